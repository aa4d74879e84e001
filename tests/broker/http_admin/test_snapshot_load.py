"""Documents that are written by hand: offsets without records, and refusals."""

import json
from typing import Any

import msgspec
import pytest

from broker.cluster.brokers import Availability
from broker.http_admin.acls import AclQuery, list_acls
from broker.http_admin.faults import fault_views
from broker.http_admin.operation import Problem
from broker.http_admin.state import Admin
from broker.http_admin.topic_records import RecordsQuery, get_records, produce_records
from broker.http_admin.topics import list_topics
from protocol.records import last_offset
from scripts import openapi_snapshot
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.http_admin.snapshots import ORDERS, body_of, document_of, filled, load

READ_ORDERS = {
    "principal": "alice",
    "permission_type": "ALLOW",
    "operation": "READ",
    "resource_type": "TOPIC",
    "resource_name": "orders",
}

REFUSED_PRODUCE = {"api": "Produce", "error": "NOT_ENOUGH_REPLICAS"}


def stopped_brokers(admin: Admin) -> list[int]:
    brokers = admin.cluster.brokers.values()
    return [broker.node_id for broker in brokers if broker.availability is Availability.DOWN]


async def test_offsets_without_records_stay_empty() -> None:
    admin = make_admin(1)
    records = [{"offset": 5, "value": "a"}, {"offset": 9, "value": "b"}, {"value": "c"}]
    partition = {"log_start_offset": 2, "log_end_offset": 20, "records": records}
    await load(admin, {"topics": [{"name": "orders", "partitions": [partition]}]})

    def offsets(from_offset: int) -> list[int]:
        query = RecordsQuery(offset=from_offset)
        return [record.offset for record in get_records(admin, ORDERS, query).records]

    assert offsets(0) == offsets(2) == [5, 9, 10]
    assert (offsets(6), offsets(10), offsets(11)) == ([9, 10], [10], [])
    log = admin.partition("orders", 0).log
    assert (log.log_start_offset, log.log_end_offset) == (2, 20)
    (empty,) = log.read(11, 1000, at_least_one=True)
    assert last_offset(empty) == 19  # readers go on behind it
    (stored,) = await produce_records(admin, ORDERS, body_of({"value": "d"}))
    assert stored.offset == 20
    assert offsets(12) == [20]


@pytest.mark.parametrize(
    ("document", "detail"),
    [
        ({"topics": [{"name": "a b", "partitions": [{}]}]}, "a b: INVALID_TOPIC_EXCEPTION"),
        (
            {"topics": [{"name": "a", "partitions": [{"replicas": [9]}]}]},
            "INVALID_REPLICA_ASSIGNMENT",
        ),
        (
            {"topics": [{"name": "a", "partitions": [{"replicas": [1]}, {}]}]},
            "all partitions have replicas, or none",
        ),
        (
            {
                "topics": [
                    {"name": "a", "partitions": [{"records": [{"offset": 2}, {"offset": 2}]}]}
                ]
            },
            "a-0: offset 2 is not above",
        ),
        (
            {"topics": [{"name": "a", "partitions": [{"records": [{}], "log_end_offset": 0}]}]},
            "log_end_offset 0 is below 1",
        ),
        ({"quotas": [{"entity": {"user": "a"}, "values": {"no": 1}}]}, "quotas: "),
        (
            {
                "credentials": [
                    {
                        "user": "a",
                        "mechanism": "SCRAM-SHA-256",
                        "iterations": 4096,
                        "salt": "*",
                        "stored_key": "",
                        "server_key": "",
                    }
                ]
            },
            "base64",
        ),
        ({"faults": [{"api": "Produce", "broker": 9, "drop": "before_response"}]}, "faults: .*9"),
        ({"acls": [READ_ORDERS]}, r"acls: .* authorizer\.class\.name=acl"),
    ],
)
async def test_a_refused_snapshot_leaves_an_empty_cluster(
    document: dict[str, Any], detail: str
) -> None:
    admin = await filled()
    fine = {"name": "fine", "partitions": [{}]}
    with pytest.raises(Problem, match=detail) as caught:
        await load(admin, {**document, "topics": [fine, *document.get("topics", [])]})
    assert caught.value.status == 422
    assert list_topics(admin) == []
    assert fault_views(admin) == []


async def test_a_rule_that_kafka_refuses_is_refused_with_its_reason() -> None:
    admin = make_admin(1, **{"authorizer.class.name": "acl"})
    with pytest.raises(Problem, match="acls: Invalid CIDR notation") as caught:
        await load(admin, {"acls": [READ_ORDERS, {**READ_ORDERS, "host": "1.2.3.4/33"}]})
    assert caught.value.status == 422
    assert list_acls(admin, AclQuery()) == []


@pytest.mark.parametrize(
    ("rule", "detail"),
    [
        ({"api": "Produce", "eror": "NONE"}, "faults: rule 2: eror"),
        (
            {"stop_broker": 1, "at_once": True},
            "acts at once: rule 2: stop_broker 1; .*at_once=true",
        ),
        ({"topic": "a", "leader": "none", "at_once": True}, "acts at once: rule 2: leader none;"),
    ],
)
async def test_invalid_rules_and_those_that_act_at_once_are_refused_before_anything_changes(
    rule: dict[str, Any], detail: str
) -> None:
    admin = await filled()
    before = await document_of(admin)
    other = {"api": "Fetch", "error": "UNKNOWN_SERVER_ERROR"}
    with pytest.raises(Problem, match=detail) as caught:
        await load(admin, {"faults": [other, rule]})
    assert caught.value.status == 422
    assert await document_of(admin) == before
    assert stopped_brokers(admin) == []


async def test_a_listed_rule_of_a_version_that_had_no_holds_is_loaded() -> None:
    listed = {"id": 7, "rule": REFUSED_PRODUCE, "matched": 3, "fired": 1, "is_used_up": False}
    admin = make_admin(1)
    await load(admin, {"faults": [listed]})
    [view] = fault_views(admin)
    assert (view.rule, view.fired) == (REFUSED_PRODUCE, 0)
    # The description of the port allows it, too.
    document = json.loads(openapi_snapshot.render())
    rules = document["components"]["schemas"]["Snapshot"]["properties"]["faults"]["items"]
    [of_list] = [form for form in rules["anyOf"] if "properties" in form]
    assert set(of_list["required"]) == listed.keys()
    assert of_list["properties"].keys() == msgspec.to_builtins(view).keys()


async def test_rules_that_act_at_once_do_so_if_the_caller_allows_it() -> None:
    admin = make_admin(3)
    document = {"faults": [{"stop_broker": 2, "at_once": True}]}
    await load(admin, document, keep=True, at_once=True)
    assert stopped_brokers(admin) == [2]
    admin.begin_again()
    assert stopped_brokers(admin) == []
    await admin.reset()
    assert stopped_brokers(admin) == [2]


async def test_a_group_may_have_more_offsets_than_one_commit_has_room_for() -> None:
    admin = make_admin(1)
    offsets = [
        {"group": "g", "topic": "t", "partition": index, "offset": index, "metadata": "m" * 100}
        for index in range(10_000)
    ]
    await load(admin, {"offsets": offsets})
    assert len(list(admin.cluster.groups.table.all_committed("g"))) == 10_000


@pytest.mark.parametrize("high_watermark", [1, 6])
async def test_a_high_watermark_outside_of_the_log_is_refused(high_watermark: int) -> None:
    partition = {"log_start_offset": 2, "log_end_offset": 5, "high_watermark": high_watermark}
    with pytest.raises(Problem, match=f"high_watermark {high_watermark} is not in 2 to 5"):
        await load(make_admin(1), {"topics": [{"name": "orders", "partitions": [partition]}]})
