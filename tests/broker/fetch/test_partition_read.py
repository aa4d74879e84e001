"""What is read of each partition, and in which order errors count."""

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.instructions import count_instructions
from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition
from broker.fetch import partition_read
from broker.fetch.partition_read import (
    FetchParams,
    WaitingBytes,
    find_partition,
    is_satisfied,
    read_partitions,
    unknown_error,
)
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import make_cluster, make_context

BATCH = make_batch(b"x")
PARAMS = FetchParams(broker_id=1, bytes_max=1 << 20, bytes_min=1)


def one_topic(batch_count: int = 1) -> Cluster:
    cluster = make_cluster(2)
    cluster.create_topic("t", [(1,), (1, 2)], {})
    append(cluster, batch_count)
    return cluster


def append(cluster: Cluster, batch_count: int, batch: bytes = BATCH) -> None:
    topic = cluster.topics.get("t")
    assert topic is not None
    partition = topic.partitions[0]
    context = make_context(ApiKey.PRODUCE, 9, broker_id=partition.leader_id)
    for _ in range(batch_count):
        append_batch(context, cluster, topic, partition, batch, 0, len(batch))


def cached(index: int, offset: int = 0, epoch: int = -1) -> CachedPartition:
    return CachedPartition("t", None, index, offset, 1 << 20, epoch)


def test_a_name_that_is_not_known_is_an_id_that_is_not_known() -> None:
    cluster = one_topic()
    nameless = CachedPartition(None, cluster.new_uuid(), 0, 0, 100)
    assert find_partition(cluster, nameless) is find_partition(cluster, cached(7)) is None
    assert unknown_error(nameless) == ErrorCode.UNKNOWN_TOPIC_ID
    assert unknown_error(cached(7)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("broker_id", "index", "epoch", "expected"),
    [
        (1, 0, 0, ErrorCode.NONE),
        (1, 0, 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (2, 0, 1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (2, 1, 0, ErrorCode.NONE),
        (2, 1, 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_broker_without_a_replica_is_said_before_a_wrong_epoch(
    broker_id: int, index: int, epoch: int, expected: ErrorCode
) -> None:
    params = FetchParams(broker_id, 100, 1, requires_leader=False)
    result = read_partitions(one_topic(), params, [cached(index, epoch=epoch)], is_in_session=False)
    assert [data.error_code for _partition, data in result.partitions] == [expected]
    assert result.is_final is (expected != ErrorCode.NONE or index == 0)


def test_unchanged_partitions_are_left_out_of_what_is_read() -> None:
    cluster = one_topic()
    idle, behind = cached(1), cached(0)
    idle.high_watermark = idle.log_start_offset = behind.log_start_offset = 0
    behind.high_watermark = 1
    result = read_partitions(cluster, PARAMS, [idle, behind], is_in_session=True)
    assert [partition for partition, _data in result.partitions] == [behind]
    complete = read_partitions(cluster, PARAMS, [idle, behind], is_in_session=False)
    assert [partition for partition, _data in complete.partitions] == [idle, behind]


@pytest.mark.parametrize(
    ("partition", "expected"),
    [(cached(0), True), (cached(0, 1), False), (cached(0, 2), True), (cached(1, 0, 3), True)],
)
def test_a_fetch_is_satisfied_by_bytes_and_by_errors(
    partition: CachedPartition, expected: bool
) -> None:
    assert is_satisfied(one_topic(), PARAMS, [cached(1), partition]) is expected


@pytest.mark.parametrize("bytes_min", [1, 1000])
def test_a_fetch_that_waits_looks_at_the_changed_partition_only(
    bytes_min: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = one_topic()
    params = FetchParams(broker_id=1, bytes_max=1 << 20, bytes_min=bytes_min)
    looks: list[int] = []
    check = partition_read.checked_partition

    def counted(cluster: Cluster, params: FetchParams, partition: CachedPartition) -> object:
        looks.append(partition.partition_index)
        return check(cluster, params, partition)

    waiting_bytes = WaitingBytes(cluster, params, ())
    monkeypatch.setattr(partition_read, "checked_partition", counted)
    assert waiting_bytes.is_enough_with(cached(0)) is (bytes_min == 1)
    assert looks == [0]


def test_the_bytes_of_a_partition_count_once_however_often_it_changes() -> None:
    cluster = one_topic()
    partition = cached(0)
    first = read_partitions(cluster, PARAMS, [partition], is_in_session=False).partitions
    (size,) = (len(data.records) for _partition, data in first)
    params = FetchParams(broker_id=1, bytes_max=1 << 20, bytes_min=size + 1)
    waiting_bytes = WaitingBytes(cluster, params, first)
    assert not waiting_bytes.is_enough_with(partition)
    assert not waiting_bytes.is_enough_with(partition)


@pytest.mark.parametrize("has_read", [True, False])
def test_a_fetch_that_waits_counts_each_batch_once(*, has_read: bool) -> None:
    def instructions_of_a_look(batch_count: int) -> int:
        cluster = one_topic(batch_count)
        partition = cached(0)
        read = read_partitions(cluster, params, [partition], is_in_session=False).partitions
        waiting_bytes = WaitingBytes(cluster, params, read if has_read else ())
        for _ in range(1 if has_read else 2):
            append(cluster, 1)
            count, is_enough = count_instructions(partial(waiting_bytes.is_enough_with, partition))
            assert not is_enough
        return count

    params = replace(PARAMS, bytes_min=1 << 20)
    assert instructions_of_a_look(1000) == pytest.approx(instructions_of_a_look(10), abs=20)


looks = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 4)),
    st.tuples(st.just("begin_transaction"), st.just(0)),
    st.tuples(st.just("end_transaction"), st.just(0)),
    st.tuples(st.just("delete_records"), st.integers(0, 4)),
    st.tuples(st.just("create_again"), st.integers(0, 6)),
    st.tuples(st.just("compact"), st.integers(2, 3)),
    st.tuples(st.just("lead"), st.integers(1, 2)),
    st.tuples(st.just("fetch_from"), st.integers(0, 6)),
    st.tuples(st.just("limit_bytes"), st.sampled_from((1, 200, 1 << 20))),
)


@given(
    st.lists(looks, min_size=1, max_size=12),
    st.sampled_from((1, 70, 300, 1000)),
    st.integers(0, 5),
    st.booleans(),
    st.booleans(),
)
@example([("create_again", 4)], 1000, 0, False, False)
def test_a_fetch_that_waits_counts_as_one_that_counts_all_batches_at_each_look(
    steps: list[tuple[str, int]],
    bytes_min: int,
    fetch_offset: int,
    reads_committed: bool,
    changes_before_it_waits: bool,
) -> None:
    params = replace(
        PARAMS, bytes_min=bytes_min, reads_committed=reads_committed, requires_leader=False
    )
    cluster = one_topic(3)
    partition = cached(0, fetch_offset)
    read = read_partitions(cluster, params, [partition], is_in_session=False).partitions
    if changes_before_it_waits:
        change(cluster, partition, *steps.pop(0))
    waiting_bytes = WaitingBytes(cluster, params, read)
    for step in steps:
        change(cluster, partition, *step)
        counts_anew = WaitingBytes(cluster, params, ())
        is_enough = counts_anew.is_enough_with(partition)
        # What was read counts until the first look at a partition with records.
        total = counts_anew._total if counts_anew._counted else waiting_bytes._total

        assert waiting_bytes.is_enough_with(partition) is (is_enough or total >= bytes_min)
        assert waiting_bytes._total == total


def change(cluster: Cluster, fetched: CachedPartition, name: str, value: int) -> None:
    topic = cluster.topics.get("t")
    assert topic is not None
    partition = topic.partitions[0]
    log = partition.log
    if name == "append":
        append(cluster, value)
    elif name == "begin_transaction":
        partition.producers.check(7, 0, 0, 0, True)
        partition.producers.apply(7, 0, 0, 0, log.log_end_offset, 0, True)
        append(cluster, 1)
    elif name == "end_transaction":
        partition.producers.apply_marker(7, 0, 0, 0)
    elif name == "delete_records":
        offset = min(log.log_end_offset, log.log_start_offset + value)
        cluster.delete_records_before(partition, offset, 0)
    elif name == "create_again":
        cluster.delete_topic(topic, 0)
        cluster.create_topic("t", [(1,), (1, 2)], {})
        append(cluster, value, make_batch(b"longer"))
    elif name == "compact":
        kept = list(log.rewind())[::value]
        log.replace_batches(kept, log.log_end_offset, log.size_bytes - sum(map(len, kept)))
    elif name == "lead":
        cluster.set_leader(partition, value, 0)
    elif name == "fetch_from":
        fetched.fetch_offset = value
    else:
        fetched.max_bytes = value
