"""What is read of each partition, and in which order errors count."""

import pytest

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

PARAMS = FetchParams(broker_id=1, bytes_max=1 << 20, bytes_min=1)


def one_topic(batch_count: int = 1) -> Cluster:
    cluster = make_cluster(2)
    topic = cluster.create_topic("t", [(1,), (1, 2)], {})
    for _ in range(batch_count):
        batch = make_batch(b"x")
        context = make_context(ApiKey.PRODUCE, 9)
        append_batch(context, cluster, topic, topic.partitions[0], batch, 0, len(batch))
    return cluster


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
    result = read_partitions(
        one_topic(), params, [cached(index, epoch=epoch)], omit_unchanged=False
    )
    assert [data.error_code for _partition, data in result.partitions] == [expected]
    assert result.is_final is (expected != ErrorCode.NONE or index == 0)


def test_unchanged_partitions_are_left_out_of_what_is_read() -> None:
    cluster = one_topic()
    idle, behind = cached(1), cached(0)
    idle.high_watermark = idle.log_start_offset = behind.log_start_offset = 0
    behind.high_watermark = 1
    result = read_partitions(cluster, PARAMS, [idle, behind], omit_unchanged=True)
    assert [partition for partition, _data in result.partitions] == [behind]
    complete = read_partitions(cluster, PARAMS, [idle, behind], omit_unchanged=False)
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
    first = read_partitions(cluster, PARAMS, [partition], omit_unchanged=False).partitions
    (size,) = (len(data.records) for _partition, data in first)
    params = FetchParams(broker_id=1, bytes_max=1 << 20, bytes_min=size + 1)
    waiting_bytes = WaitingBytes(cluster, params, first)
    assert not waiting_bytes.is_enough_with(partition)
    assert not waiting_bytes.is_enough_with(partition)
