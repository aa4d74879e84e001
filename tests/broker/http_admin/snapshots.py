"""A cluster with some of everything that a snapshot has, saved and loaded."""

from typing import Any

import msgspec

from broker.administration.scram_credentials import Upsertion, alter_credentials
from broker.faults import fault_rule
from broker.http_admin.faults import add_faults
from broker.http_admin.operation import encode_result
from broker.http_admin.quotas import QuotaBody, put_quotas
from broker.http_admin.snapshot import LoadQuery, SaveQuery, get_snapshot, put_snapshot
from broker.http_admin.snapshot_document import Snapshot
from broker.http_admin.state import Admin
from broker.http_admin.topic_records import RecordsBody, produce_records
from broker.http_admin.topics import NewTopicBody, TopicPath, create_topic
from tests.broker.cluster_builder import NOW_MS
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.http_admin.kafka_clients import commit

ORDERS = TopicPath("orders")


def body_of(*entries: dict[str, Any]) -> RecordsBody:
    return msgspec.convert({"records": list(entries)}, RecordsBody)


async def filled() -> Admin:
    """Return a cluster with some of everything that a snapshot has."""
    admin = make_admin(3)
    create_topic(admin, NewTopicBody("orders", 2, 3, {"retention.ms": "123456"}))
    header = {"key": "h", "value": {"base64": "/w=="}}
    entries: list[dict[str, Any]] = [
        {"value": "1", "partition": 0, "timestamp": 7},
        {"value": {"base64": "/w=="}, "key": "k", "partition": 0, "headers": [header]},
        {"value": None, "key": "k", "partition": 0},
        {"value": "3", "partition": 1},
    ]
    await produce_records(admin, ORDERS, body_of(*entries))
    admin.cluster.delete_records_before(admin.partition("orders", 0), 1, NOW_MS)
    commit(admin, "billing", "orders", 2)
    put_quotas(admin, QuotaBody({"user": "alice"}, {"producer_byte_rate": 1024.0}))
    put_quotas(admin, QuotaBody({"user": None}, {"producer_ids_rate": 5.0}, shadow=True))
    await add_faults(admin, fault_rule(api="Produce", topic="orders", error="NOT_ENOUGH_REPLICAS"))
    upsertion = Upsertion("alice", 1, 4096, b"salt", b"salted password")
    alter_credentials(admin.cluster.credentials, [], [upsertion])
    return admin


async def document_of(admin: Admin) -> bytes:
    return encode_result(get_snapshot(admin, SaveQuery()))


async def load(
    admin: Admin,
    document: bytes | dict[str, Any],
    *,
    keep: bool = False,
    at_once: bool = False,
    cluster_id: bool = False,
) -> None:
    if not isinstance(document, bytes):
        document = msgspec.json.encode(document)
    body = msgspec.json.decode(document, type=Snapshot)
    await put_snapshot(admin, LoadQuery(keep, at_once, cluster_id), body)
