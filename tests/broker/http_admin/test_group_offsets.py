"""Offsets of a group are reset as Kafka's tool resets them."""

from dataclasses import replace

import pytest

from broker.cluster.failover import stop_broker
from broker.groups.results import JoinResult
from broker.http_admin.group_offsets import OffsetsBody, reset_group_offsets
from broker.http_admin.groups import GroupPath, list_group_offsets
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
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS
from tests.broker.handlers.streams_requests import heartbeat
from tests.broker.handlers.streams_requests import make_cluster as streams_cluster
from tests.broker.http_admin.admin_server import admin_of, make_admin
from tests.broker.http_admin.group_members import join_request
from tests.broker.http_admin.kafka_clients import commit, produce
from tests.broker.share_driver import ACCEPT, ShareDriver

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


def lagging(admin: Admin) -> list[tuple[int, int | None, int | None]]:
    """Return partition, offset and lag of the group g."""
    views = list_group_offsets(admin, GroupPath("g"))
    return [(view.partition, view.offset, view.lag) for view in views]


def test_a_share_group_lags_by_its_records_that_are_not_done() -> None:
    driver = ShareDriver(partition_count=2)
    admin = admin_of(driver.cluster)
    driver.produce(*[b"x"] * 5)
    driver.join(1)
    assert lagging(admin) == [(0, None, None), (1, None, None)]
    assert driver.acquire(1) == [(0, 4, 1)]
    assert lagging(admin) == [(0, 0, 5), (1, None, None)]
    assert driver.acknowledge_code(1, (1, 2, [ACCEPT])) is ErrorCode.NONE
    assert lagging(admin) == [(0, 0, 3), (1, None, None)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (OffsetsBody(to="earliest"), [(0, 0, 5), (1, 0, 0)]),
        (OffsetsBody(to="latest"), [(0, 5, 0), (1, 0, 0)]),
        (OffsetsBody(offset=3, topic="t", partition=0), [(0, 3, 2), (1, None, None)]),
    ],
)
def test_a_share_group_begins_elsewhere_and_forgets_what_was_acknowledged(
    body: OffsetsBody, expected: list[tuple[int, int | None, int | None]]
) -> None:
    driver = ShareDriver(partition_count=2)
    admin = admin_of(driver.cluster)
    driver.produce(*[b"x"] * 5)
    driver.join(1)
    driver.acquire(1)
    driver.acknowledge_code(1, (1, 2, [ACCEPT]))
    with pytest.raises(Problem, match="has members"):
        reset_group_offsets(admin, GroupPath("g"), body)
    driver.heartbeat(1, -1)

    views = reset_group_offsets(admin, GroupPath("g"), body)

    assert [(view.partition, view.offset, view.lag) for view in views] == expected
    driver.join(2)
    first = expected[0][1]
    records = [(first, 4, 1)] if first != 5 else []
    assert driver.acquire(2) == records


def test_a_share_partition_without_coordinator_cannot_begin_elsewhere() -> None:
    driver = ShareDriver(broker_count=2)
    admin = admin_of(driver.cluster)
    driver.join(1)
    driver.heartbeat(1, -1)
    for node_id in (1, 2):
        stop_broker(driver.cluster, node_id, NOW_MS)
    with pytest.raises(Problem, match="COORDINATOR_NOT_AVAILABLE") as caught:
        reset_group_offsets(admin, GroupPath("g"), OffsetsBody(to="latest"))
    assert caught.value.status == 422


def test_a_streams_group_has_a_lag_and_goes_on_elsewhere_without_members() -> None:
    cluster = streams_cluster()
    admin = admin_of(cluster.cluster)
    assert heartbeat(cluster).error_code == ErrorCode.NONE
    produce(admin, "t", 1)
    assert lagging(admin) == [(0, None, 1), (1, None, 0)]
    body = OffsetsBody(to="latest")
    with pytest.raises(Problem, match="has members"):
        reset_group_offsets(admin, GroupPath("g"), body)
    heartbeat(cluster, -1)
    reset_group_offsets(admin, GroupPath("g"), OffsetsBody(to="latest", topic="t"))
    assert lagging(admin) == [(0, 1, 0), (1, 0, 0)]
    heartbeat(cluster)
    assert lagging(admin) == [(0, 1, 0), (1, 0, 0)]
