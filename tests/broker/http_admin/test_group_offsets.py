"""Offsets of a group are reset as Kafka's tool resets them."""

from dataclasses import replace

import pytest

from broker.cluster.failover import stop_broker
from broker.groups.results import JoinResult
from broker.http_admin.group_offsets import OffsetsBody, reset_group_offsets
from broker.http_admin.groups import GroupPath
from broker.http_admin.operation import Problem
from broker.http_admin.state import Admin
from broker.http_admin.topic_records import RecordBody, RecordsBody, produce_records
from broker.http_admin.topics import (
    DeletedRecordsQuery,
    NewTopicBody,
    TopicPath,
    create_topic,
    delete_topic_records,
)
from tests.broker.cluster_builder import NOW_MS
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.http_admin.group_members import join_request
from tests.broker.http_admin.kafka_clients import commit, produce

BILLING = GroupPath("billing")


async def reading_group() -> Admin:
    """Return an admin with a topic of two partitions, of which a group has read the first."""
    admin = make_admin()
    create_topic(admin, NewTopicBody("orders", 2))
    records = [
        RecordBody(value="x", partition=partition, timestamp=1_000 * number)
        for partition in (0, 1)
        for number in range(10)
    ]
    await produce_records(admin, TopicPath("orders"), RecordsBody(records))
    delete_topic_records(admin, TopicPath("orders"), DeletedRecordsQuery(0, 2))
    commit(admin, "billing", "orders", 5)
    return admin


@pytest.mark.parametrize(
    ("body", "offsets"),
    [
        (OffsetsBody(to="earliest"), [2, 0]),
        (OffsetsBody(to="latest"), [10, 10]),
        (OffsetsBody(offset=1), [2, 1]),
        (OffsetsBody(offset=99, topic="orders"), [10, 10]),
        (OffsetsBody(timestamp=3_500), [4, 4]),
        (OffsetsBody(timestamp=0), [2, 0]),
        (OffsetsBody(timestamp=9_001), [10, 10]),
        (OffsetsBody(to="earliest", topic="orders", partition=1), [5, 0]),
    ],
)
async def test_a_group_goes_on_elsewhere(body: OffsetsBody, offsets: list[int]) -> None:
    admin = await reading_group()
    views = reset_group_offsets(admin, BILLING, body)
    assert [view.offset for view in views] == offsets
    stored = admin.cluster.groups.table.all_committed("billing")
    committed = {index: found.offset for _, index, found in stored}
    assert committed == dict(enumerate(offsets))


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (OffsetsBody(), 422, "give one of"),
        (OffsetsBody(to="latest", offset=1), 422, "give one of"),
        (OffsetsBody(to="latest", partition=1), 422, "needs its topic"),
        (OffsetsBody(to="latest", topic="other"), 404, "other"),
        (OffsetsBody(to="latest", topic="orders", partition=2), 404, "0 to 1"),
    ],
)
async def test_what_makes_no_sense_is_refused(body: OffsetsBody, status: int, reason: str) -> None:
    admin = await reading_group()
    with pytest.raises(Problem, match=reason) as caught:
        reset_group_offsets(admin, BILLING, body)
    assert caught.value.status == status


async def test_a_group_with_members_and_an_unknown_one_are_refused() -> None:
    admin = await reading_group()
    with pytest.raises(Problem, match="no group") as caught:
        reset_group_offsets(admin, GroupPath("shipping"), OffsetsBody(to="latest"))
    assert caught.value.status == 404
    joined: list[JoinResult] = []
    admin.cluster.groups.join(replace(join_request(), group_id="billing"), joined.append, NOW_MS)
    with pytest.raises(Problem, match="has members") as caught:
        reset_group_offsets(admin, BILLING, OffsetsBody(to="latest"))
    assert caught.value.status == 409


def test_a_group_goes_on_at_the_high_watermark() -> None:
    admin = make_admin(2)
    create_topic(admin, NewTopicBody("orders", 1, 2, {"min.insync.replicas": "2"}))
    partition = admin.partition("orders", 0)
    commit(admin, "billing", "orders", 0)
    stop_broker(admin.cluster, 3 - partition.leader_id, NOW_MS)
    produce(admin, "orders", 1)
    assert (partition.log.high_watermark, partition.log.log_end_offset) == (0, 1)

    for body in (OffsetsBody(to="latest"), OffsetsBody(offset=1), OffsetsBody(timestamp=0)):
        (view,) = reset_group_offsets(admin, BILLING, body)
        assert view.offset == 0
