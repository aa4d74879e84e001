"""A snapshot has the setup of a cluster, and loading it restores the setup."""

from io import BytesIO

import msgspec
import pytest

from broker.http_admin import snapshot
from broker.http_admin.faults import list_faults
from broker.http_admin.groups import GroupPath, get_group
from broker.http_admin.operation import Problem
from broker.http_admin.quotas import list_quotas
from broker.http_admin.records import RecordsQuery, get_records
from broker.http_admin.service import reset
from broker.http_admin.snapshot import SaveQuery, get_snapshot
from broker.http_admin.topics import NewTopicBody, create_topic, list_topics
from tests.broker.http_admin.admin_server import make_admin, serving_site
from tests.broker.http_admin.snapshots import ORDERS, document_of, filled, load


async def test_a_cluster_that_loads_a_snapshot_has_the_same_setup() -> None:
    admin = await filled()
    document = await document_of(admin)
    other = make_admin(3)
    load(other, document)

    assert await document_of(other) == document
    query = RecordsQuery(encoding="base64")
    assert get_records(other, ORDERS, query) == get_records(admin, ORDERS, query)
    (view,) = [topic for topic in list_topics(other) if not topic.is_internal]
    first = view.partitions[0]
    assert (first.log_start_offset, first.log_end_offset) == (1, 3)
    assert view.config == {"retention.ms": "123456"}
    assert list_quotas(other) == list_quotas(admin)
    assert [fault.rule for fault in list_faults(other)] == [
        fault.rule for fault in list_faults(admin)
    ]
    group = GroupPath("billing")
    assert get_group(other, group).offsets == get_group(admin, group).offsets
    credential = other.cluster.credentials.scram("alice", "SCRAM-SHA-256")
    assert credential == admin.cluster.credentials.scram("alice", "SCRAM-SHA-256") is not None


async def test_what_was_there_before_is_gone() -> None:
    admin = await filled()
    load(admin, {})
    assert list_topics(admin) == []
    assert list_quotas(admin) == []
    assert list_faults(admin) == []
    assert admin.cluster.credentials.scram_users() == []


async def test_a_kept_snapshot_is_loaded_again_by_a_reset_until_another_is_loaded() -> None:
    document = await document_of(await filled())
    admin = make_admin(3)
    load(admin, document, keep=True)
    create_topic(admin, NewTopicBody("more"))
    reset(admin)
    assert await document_of(admin) == document
    load(admin, {"topics": [{"name": "t", "partitions": [{}]}]})
    reset(admin)
    assert list_topics(admin) == []


async def test_a_snapshot_with_too_many_records_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = await filled()
    monkeypatch.setattr(snapshot, "SAVED_BYTES_MAX", 3)
    with pytest.raises(Problem, match="records=false"):
        await document_of(admin)
    without = await get_snapshot(admin, SaveQuery(records=False))
    assert [len(topic.partitions) for topic in without.topics] == [2]
    assert without.topics[0].partitions[0].records == []


async def test_a_document_may_be_larger_than_other_bodies() -> None:
    async with serving_site(broker_count=1) as site:
        value = "x" * 700_000
        records = [{"value": value}] * 7
        document = {"topics": [{"name": "orders", "partitions": [{"records": records}]}]}
        body = BytesIO(msgspec.json.encode(document))
        status, _ = await site.ask("PUT", "/v1/snapshot", data=body)
        assert status == 204
        status, saved = await site.ask("GET", "/v1/snapshot")
        assert status == 200
        assert len(saved["topics"][0]["partitions"][0]["records"]) == 7
