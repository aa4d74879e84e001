"""Coordinators go on with what a snapshot has of them."""

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from broker.cluster.topics import GROUP_METADATA_TOPIC
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.requests import ConsumerHeartbeat
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.http_admin.operation import Problem
from broker.http_admin.state import Admin
from broker.share_groups.in_flight import StateBatch
from broker.share_groups.share_state import SharePartitionKey
from broker.transactions.coordinator import ProducerIdAndEpoch
from protocol.errors import ErrorCode
from protocol.records import CONTROL_FLAG, read_records, whole_batches
from tests.broker.cluster.coordinator_work import OVERRIDES, STEPS, Work
from tests.broker.cluster_builder import NOW_MS
from tests.broker.groups.group_cluster import GROUP, GroupCluster
from tests.broker.http_admin.admin_server import admin_of, make_admin
from tests.broker.http_admin.snapshots import document_of, load
from tests.broker.share_driver import ShareDriver
from tests.broker.transactional_driver import TransactionDriver, transactional_cluster
from tests.examples import examples
from tests.transaction_requests import READ_COMMITTED

Steps = list[tuple[str, str]]
READ_UNCOMMITTED = 0


async def loaded(admin: Admin, broker_count: int = 1, /, **overrides: str) -> Admin:
    """Return another cluster that has loaded the snapshot of one."""
    other = make_admin(broker_count, **overrides)
    await load(other, await document_of(admin))
    return other


def visible(driver: TransactionDriver, isolation_level: int = READ_COMMITTED) -> list[Any]:
    """Return the offsets and values that a consumer returns to its application."""
    fetched = driver.fetch(0, isolation_level)
    aborted = sorted((first, producer_id) for producer_id, first in fetched.aborted or ())
    skipped: set[int] = set()
    found: list[Any] = []
    for header, start, end in whole_batches(fetched.records):
        while aborted and aborted[0][0] <= header.base_offset:
            skipped.add(aborted.pop(0)[1])
        if header.attributes & CONTROL_FLAG:
            skipped.discard(header.producer_id)
        elif header.producer_id not in skipped:
            records = read_records(fetched.records[start:end])
            found += [(record.offset, record.value) for record in records]
    return found


def everything(work: Work) -> Any:
    driver = work.driver
    fetched = driver.fetch(0)
    return {
        "offsets": work.offsets(),
        "transaction": work.transaction(),
        "committed": visible(driver),
        "all": visible(driver, READ_UNCOMMITTED),
        "producers": driver.producers(),
        "ends": (fetched.last_stable_offset, fetched.high_watermark),
    }


@given(STEPS, STEPS)
@settings(max_examples=examples(40), deadline=None)
def test_transactions_go_on_after_a_snapshot_as_if_nothing_had_happened(
    before: Steps, after: Steps
) -> None:
    never, moved = Work(), Work()
    never.do(before)
    moved.do(before)
    other = asyncio.run(loaded(admin_of(moved.cluster), **OVERRIDES))
    moved.move_to(other.cluster)
    never.do(after)
    moved.do(after)
    assert everything(moved) == everything(never)


async def test_an_open_transaction_is_committed_after_the_load() -> None:
    driver = TransactionDriver(transactional_cluster())
    _, producer = driver.init()
    driver.add(producer, 0)
    assert driver.produce(producer, 0, b"a", b"b") == (ErrorCode.NONE, 0)
    driver.add_offsets(producer, "g")
    driver.commit_offset(producer, "g", 5)
    other = await loaded(admin_of(driver.cluster))
    again = TransactionDriver(other.cluster)
    assert visible(again) == []
    assert again.produce(producer, 2, b"c") == (ErrorCode.NONE, 2)
    assert again.end(producer, commit=True)[0] == ErrorCode.NONE
    assert visible(again) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert again.fetch_offset("g") == (ErrorCode.NONE, 5)


async def test_a_transaction_that_is_not_ended_times_out_after_the_load() -> None:
    driver = TransactionDriver(transactional_cluster())
    _, producer = driver.init()
    driver.add(producer, 0)
    driver.produce(producer, 0, b"a")
    other = await loaded(admin_of(driver.cluster))
    other.cluster.timers.run_due(NOW_MS + 3_600_000)
    again = TransactionDriver(other.cluster)
    again.now_ms = NOW_MS + 3_600_000
    assert visible(again) == []
    assert again.list_offset() == 2
    assert again.produce(producer, 1, b"b")[0] == ErrorCode.INVALID_PRODUCER_EPOCH


async def test_a_prepared_transaction_gets_its_markers_after_the_load() -> None:
    driver = TransactionDriver(transactional_cluster(2), broker_id=1)
    _, producer = driver.init()
    driver.add(producer, 0)
    driver.produce(producer, 0, b"a")
    transaction = driver.cluster.transactions.get("tx")
    assert transaction is not None
    # What a coordinator has written that ends before the marker is written.
    driver.cluster.transactions.end(
        "tx",
        ProducerIdAndEpoch(*producer),
        is_commit=True,
        transaction_version=0,
        new_producer_id=lambda: 99,
        now_ms=NOW_MS,
    )
    other = await loaded(admin_of(driver.cluster), 2)
    other.cluster.timers.run_due(NOW_MS + 5_000)
    assert visible(TransactionDriver(other.cluster)) == [(0, b"a")]
    again = other.cluster.transactions.get("tx")
    assert again is not None
    assert again.state.value == "CompleteCommit"


async def test_a_member_of_a_consumer_group_keeps_its_partitions() -> None:
    groups = GroupCluster()
    coordinator = groups.cluster.groups
    joined = join_consumer(coordinator)
    admin = admin_of(groups.cluster)
    document = await document_of(admin)
    other = make_admin(3)
    await load(other, document, cluster_id=True)
    group = other.cluster.groups.table.get(GROUP)
    known = groups.cluster.groups.table.get(GROUP)
    assert isinstance(group, ConsumerGroup)
    assert isinstance(known, ConsumerGroup)
    assert group.members == known.members
    again = heartbeat(other.cluster.groups, joined.member_epoch)
    assert (again.error_code, again.member_epoch) == (ErrorCode.NONE, joined.member_epoch)
    assert await document_of(other) == document


async def test_a_share_partition_goes_on_with_its_state() -> None:
    driver = ShareDriver()
    driver.join(1)
    topic = next(topic for topic in driver.cluster.topics.all() if not topic.is_internal)
    key = SharePartitionKey("g", topic.topic_id, 0)
    states = driver.cluster.share.states
    known = states.get(key)
    assert known is not None
    states.write(
        key,
        state_epoch=known.state_epoch,
        leader_epoch=0,
        start_offset=3,
        finished_count=1,
        state_batches=[StateBatch(4, 5, 2, 1)],
        now_ms=NOW_MS,
    )
    other = await loaded(admin_of(driver.cluster))
    found = other.cluster.share.states.get(key)
    assert found is not None
    assert (found.start_offset, found.state_batches) == (3, (StateBatch(4, 5, 2, 1),))
    group = other.cluster.share.groups.get("g")
    assert group is not None
    assert len(group.members) == 1
    assert group.group_epoch == driver.cluster.share.groups.all()[0].group_epoch


async def test_an_offset_keeps_when_it_was_committed_and_when_it_expires() -> None:
    cluster = transactional_cluster()
    offset = OffsetToCommit("t", 0, 7, -1, "m")
    cluster.groups.table.commit(CommitRequest("g", (offset,), retention_ms=5), NOW_MS - 3)
    admin = admin_of(cluster)
    other = await loaded(admin)
    assert list(other.cluster.groups.table.all_committed("g")) == list(
        cluster.groups.table.all_committed("g")
    )


async def test_internal_topics_are_led_as_before_so_that_coordinators_stay() -> None:
    cluster = transactional_cluster(3)
    topic = cluster.topics.get(GROUP_METADATA_TOPIC)
    assert topic is not None
    for partition in topic.partitions:
        cluster.move_leader(partition, 3, NOW_MS)
    other = await loaded(admin_of(cluster), 3)
    again = other.cluster.topics.get(GROUP_METADATA_TOPIC)
    assert again is not None
    assert [part.leader_id for part in again.partitions] == [3] * 50
    assert [part.leader_epoch for part in again.partitions] == [
        part.leader_epoch for part in topic.partitions
    ]
    fewer = await loaded(admin_of(cluster), 3, **{"offsets.topic.num.partitions": "7"})
    placed = fewer.cluster.topics.get(GROUP_METADATA_TOPIC)
    assert placed is not None
    assert len(placed.partitions) == 7


@pytest.mark.parametrize(
    ("part", "record", "reason"),
    [
        ("groups", {"type": "None"}, r"groups\[0\]: there are no records of the type 'None'"),
        ("transactions", {"type": "TransactionLog"}, r"transactions\[0\]: key: .* is missing"),
        ("share_states", {"type": "ShareSnapshot"}, r"share_states\[0\]: .*"),
    ],
)
async def test_an_invalid_record_is_refused_with_its_place(
    part: str, record: dict[str, Any], reason: str
) -> None:
    admin = make_admin()
    document = {part: [{"key": {}, "version": 0, "value": {}} | record]}
    with pytest.raises(Problem, match=reason):
        await load(admin, msgspec.json.encode(document))
    assert list(admin.cluster.topics.all()) == []


def join_consumer(groups: Any) -> Any:
    return heartbeat(groups, 0, subscribed_topic_names=("t",), rebalance_timeout_ms=60_000)


def heartbeat(groups: Any, epoch: int, **fields: Any) -> Any:
    defaults: dict[str, Any] = {"owned_partitions": {}} if epoch == 0 else {}
    request = ConsumerHeartbeat(
        GROUP, "a", epoch, client_id="client", client_host="/host", **(defaults | fields)
    )
    return groups.consumer_heartbeat(request, NOW_MS)
