"""Records that too few replicas have are acknowledged, and nobody reads them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.administration.record_deletion import check_record_deletion
from broker.cluster.cluster import Cluster
from broker.cluster.failover import start_broker, stop_broker
from broker.cluster.fetch_sessions import CachedPartition
from broker.cluster.high_watermark import maybe_move
from broker.cluster.topics import NO_LEADER, Partition, Topic
from broker.fetch.partition_read import FetchParams, read_partitions
from broker.produce.append import append_batch
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.releases import DEFAULT_RELEASE
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, call, make_cluster, make_context

_ListTopic = messages.ListOffsetsRequest.ListOffsetsTopic
TIME_MS = 1_000


def replicated() -> tuple[Cluster, Topic, Partition]:
    cluster = make_cluster(3)
    topic = cluster.create_topic("t", [(1, 2, 3)], {"min.insync.replicas": "2"})
    return cluster, topic, topic.partitions[0]


def append(cluster: Cluster, *, acks: int = 1, timestamp: int = TIME_MS, leader_id: int = 1) -> Any:
    topic = cluster.topics.get("t")
    assert topic is not None
    batch = make_batch(b"v", timestamps=[timestamp])
    context = make_context(ApiKey.PRODUCE, 9, broker_id=leader_id)
    partition = topic.partitions[0]
    return append_batch(context, cluster, topic, partition, batch, 0, len(batch), acks=acks)


def with_unread() -> tuple[Cluster, Topic, Partition]:
    """One record that all have, and two that only broker 1 has; brokers 2 and 3 are down."""
    cluster, topic, partition = replicated()
    append(cluster)
    for node_id in (2, 3):
        stop_broker(cluster, node_id, NOW_MS)
    append(cluster, timestamp=2 * TIME_MS)
    append(cluster, timestamp=3 * TIME_MS)
    return cluster, topic, partition


def offsets(partition: Partition) -> tuple[int, int]:
    return partition.log.high_watermark, partition.log.log_end_offset


def listed(cluster: Cluster, timestamp: int, version: int = 7, **fields: Any) -> tuple[int, int]:
    part = _ListTopic.ListOffsetsPartition(
        version=version, partition_index=0, current_leader_epoch=-1, timestamp=timestamp
    )
    topic = _ListTopic(version=version, name="t", partitions=[part])
    fields = {"replica_id": -1, "isolation_level": 0} | fields
    request = messages.ListOffsetsRequest(version=version, topics=[topic], **fields)
    (found,) = call(cluster, request, version).topics[0].partitions
    return found.error_code, found.offset


def cached_partition(offset: int = 0) -> CachedPartition:
    return CachedPartition("t", None, 0, offset, 1 << 20)


def test_it_stands_while_too_few_replicas_are_in_sync_and_moves_when_one_returns() -> None:
    cluster, _topic, partition = with_unread()
    assert offsets(partition) == (1, 3)
    assert append(cluster, acks=-1).error_code == ErrorCode.NOT_ENOUGH_REPLICAS

    woken: list[int] = []
    partition.log.wait(woken.append)
    start_broker(cluster, 3, NOW_MS + 5)

    assert offsets(partition) == (3, 3)
    assert woken == [NOW_MS + 5]
    append(cluster, acks=-1)
    assert offsets(partition) == (4, 4)


def test_a_decision_that_moves_nothing_wakes_nobody() -> None:
    cluster, topic, partition = with_unread()
    woken: list[int] = []
    partition.log.wait(woken.append)

    maybe_move(topic, partition, NOW_MS)
    start_broker(cluster, 2, NOW_MS)
    woken.clear()
    maybe_move(topic, partition, NOW_MS)

    assert woken == []


def test_a_lower_min_insync_replicas_counts_from_the_next_append_on() -> None:
    cluster, topic, partition = with_unread()
    cluster.alter_topic_config(topic, {"min.insync.replicas": "1"})
    assert offsets(partition) == (1, 3)
    append(cluster)
    assert offsets(partition) == (4, 4)
    cluster.alter_topic_config(topic, {"min.insync.replicas": "2"})
    assert offsets(partition) == (4, 4)
    append(cluster)
    assert offsets(partition) == (4, 5)


def test_it_stands_from_the_start_in_a_topic_that_begins_with_too_few() -> None:
    cluster = make_cluster(3)
    stop_broker(cluster, 3, NOW_MS)
    topic = cluster.create_topic("t", [(1, 3)], {"min.insync.replicas": "2"})
    append(cluster)
    assert offsets(topic.partitions[0]) == (0, 1)


def test_fewer_replicas_need_fewer_in_sync() -> None:
    cluster, _topic, partition = with_unread()
    cluster.set_replicas(partition, (1,), NOW_MS)
    assert offsets(partition) == (3, 3)


def test_the_minimum_of_the_leader_counts() -> None:
    _cluster, topic, partition = with_unread()
    lenient = make_cluster(3).create_topic("t", [(1,)], {"min.insync.replicas": "1"})
    topic.by_broker = {1: lenient}
    maybe_move(topic, partition, NOW_MS)
    assert offsets(partition) == (3, 3)


def test_consumers_read_up_to_it_and_followers_to_the_end() -> None:
    cluster, _topic, partition = with_unread()
    read = {}
    for name, replica_id in (("consumer", -1), ("follower", 2)):
        params = FetchParams(
            broker_id=1,
            bytes_max=1 << 20,
            bytes_min=1,
            replica_id=replica_id,
        )
        ((_cached, data),) = read_partitions(
            cluster, params, [cached_partition()], is_in_session=False
        ).partitions
        read[name] = len(data.batches)
        assert (data.high_watermark, data.last_stable_offset) == (1, 1)
    assert read == {"consumer": 1, "follower": 3}
    assert partition.last_stable_offset == 1


@pytest.mark.parametrize(
    ("offset", "error_code", "is_final"),
    [
        (1, ErrorCode.NONE, False),
        (2, ErrorCode.NONE, True),
        (3, ErrorCode.NONE, True),
        (4, ErrorCode.OFFSET_OUT_OF_RANGE, True),
    ],
)
def test_a_fetch_behind_it_is_empty_and_does_not_wait(
    offset: int, error_code: ErrorCode, is_final: bool
) -> None:
    cluster, _topic, _partition = with_unread()
    params = FetchParams(broker_id=1, bytes_max=1 << 20, bytes_min=1)
    result = read_partitions(cluster, params, [cached_partition(offset)], is_in_session=False)
    ((_cached, data),) = result.partitions
    assert (data.error_code, data.batches, result.is_final) == (error_code, (), is_final)


def test_list_offsets_ends_at_it() -> None:
    cluster, _topic, _partition = with_unread()
    none = (ErrorCode.NONE, -1)
    assert listed(cluster, -1) == listed(cluster, -1, isolation_level=1) == (0, 1)
    assert listed(cluster, -2) == (0, 0)
    assert listed(cluster, -3) == none
    assert listed(cluster, TIME_MS) == (0, 0)
    assert listed(cluster, TIME_MS + 1) == none
    assert listed(cluster, -1, replica_id=-2) == (0, 3)
    start_broker(cluster, 2, NOW_MS)
    assert (listed(cluster, -1), listed(cluster, -3)) == ((0, 3), (0, 2))
    assert listed(cluster, TIME_MS + 1) == (0, 1)


@pytest.mark.parametrize(
    ("version", "error_code"),
    [(5, ErrorCode.OFFSET_NOT_AVAILABLE), (4, ErrorCode.LEADER_NOT_AVAILABLE)],
)
def test_a_leader_whose_epoch_begins_behind_it_does_not_tell_the_latest_offset(
    version: int, error_code: ErrorCode
) -> None:
    cluster, _topic, partition = with_unread()
    cluster.set_leader(partition, NO_LEADER, NOW_MS)
    cluster.set_leader(partition, 1, NOW_MS)

    for timestamp in (-1, 2 * TIME_MS, 9 * TIME_MS):
        assert listed(cluster, timestamp, version) == (error_code, -1)
    assert listed(cluster, TIME_MS, version) == listed(cluster, -2, version) == (0, 0)
    append(cluster)
    assert listed(cluster, -1, version) == (error_code, -1)
    start_broker(cluster, 2, NOW_MS)
    assert listed(cluster, -1, version) == (0, 4)


def test_the_memory_bound_takes_it_along() -> None:
    _cluster, _topic, partition = with_unread()
    partition.log.drop_at_least(1 << 20, 10)
    assert partition.log.log_start_offset == partition.log.high_watermark == 2


def test_retention_keeps_the_segments_that_end_behind_it() -> None:
    _cluster, topic, partition = with_unread()
    log, settings = partition.log, topic.segment_settings._replace(segment_bytes=1)
    log.extend_segments(settings, 10)
    assert log.segments is not None
    for high_watermark in range(4):
        count = log.segments.count_deletable(0, high_watermark, 0, -1, NOW_MS)
        assert count == high_watermark


@given(
    st.lists(
        st.sampled_from(
            ("append", "stop 2", "stop 3", "start 2", "start 3", "min 1", "min 2", "min 3")
        ),
        max_size=30,
    )
)
def test_it_never_falls_and_is_the_end_after_an_append_with_enough_in_sync(
    steps: list[str],
) -> None:
    cluster, topic, partition = replicated()
    before = 0
    for step in steps:
        word, _, number = step.partition(" ")
        in_sync_before = tuple(partition.isr)
        if word == "append":
            append(cluster)
        elif word == "min":
            cluster.alter_topic_config(topic, {"min.insync.replicas": number})
        else:
            (stop_broker if word == "stop" else start_broker)(cluster, int(number), NOW_MS)
        high_watermark, end = offsets(partition)
        assert before <= high_watermark <= end
        has_enough = len(partition.isr) >= topic.min_insync_replicas
        # Nothing looks at a changed minimum before an append or a change of the in-sync replicas.
        if word == "append" or in_sync_before != tuple(partition.isr):
            assert has_enough <= (high_watermark == end)
            assert has_enough or high_watermark == before
        before = high_watermark


def test_records_behind_it_are_not_deleted() -> None:
    _cluster, topic, partition = with_unread()

    assert (
        check_record_deletion(topic, partition, 1, 2, DEFAULT_RELEASE)[0]
        == ErrorCode.OFFSET_OUT_OF_RANGE
    )
    assert check_record_deletion(topic, partition, 1, -1, DEFAULT_RELEASE) == (ErrorCode.NONE, 1)


@pytest.mark.parametrize(("start_offset", "expected"), [(0, 0), (1, 1), (2, 1)])
def test_the_last_stable_offset_is_not_behind_it(start_offset: int, expected: int) -> None:
    cluster, _topic, partition = replicated()
    for offset in range(3):
        if offset == 1:
            for node_id in (2, 3):
                stop_broker(cluster, node_id, NOW_MS)
        append(cluster)
        if offset == start_offset:
            partition.producers.apply(7, 0, 0, 0, offset, TIME_MS, is_transactional=True)

    assert offsets(partition) == (1, 3)
    assert partition.last_stable_offset == expected
    start_broker(cluster, 2, NOW_MS)
    assert partition.last_stable_offset == start_offset
