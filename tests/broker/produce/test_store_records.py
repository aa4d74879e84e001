"""Records that no client has sent: their partitions, batches and checks."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.errors import Refusal
from broker.produce.store_records import NewRecord, StoredRecord, store_records
from protocol.errors import ErrorCode
from protocol.partition_hash import partition_for_key
from protocol.records import read_records
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.interleaving import at_pause, run_with_pauses


def topic_of(cluster: Cluster, partition_count: int, **config: str) -> Topic:
    return cluster.create_topic("orders", [(1, 2)] * partition_count, config)


def values(topic: Topic) -> list[list[bytes | None]]:
    return [
        [record.value for batch in part.log.rewind() for record in read_records(batch)]
        for part in topic.partitions
    ]


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.none() | st.binary(max_size=3), st.binary(max_size=60)), max_size=30),
)
def test_every_record_is_where_the_result_says(
    partition_count: int, records: list[tuple[bytes | None, bytes]]
) -> None:
    cluster = make_cluster(2)
    topic = topic_of(cluster, partition_count, **{"max.message.bytes": "300"})
    stored = store_records(cluster, topic, [NewRecord(*record) for record in records], NOW_MS)

    assert isinstance(stored, list)
    by_partition = values(topic)
    assert sum(map(len, by_partition)) == len(records)
    for (key, value), place in zip(records, stored, strict=True):
        assert by_partition[place.partition][place.offset] == value
        if key is not None:
            assert place.partition == partition_for_key(key, partition_count)


def test_records_without_a_key_go_to_the_partition_with_the_lowest_end_offset() -> None:
    cluster = make_cluster(2)
    topic = topic_of(cluster, 3)
    store_records(cluster, topic, [NewRecord(None, b"x", partition=0)] * 2, NOW_MS)
    stored = store_records(cluster, topic, [NewRecord(None, b"y")] * 4, NOW_MS)
    assert isinstance(stored, list)
    assert [place.partition for place in stored] == [1, 2, 1, 2]


def test_a_topic_with_log_append_time_says_the_time_of_the_cluster() -> None:
    cluster = make_cluster(2)
    topic = topic_of(cluster, 1, **{"message.timestamp.type": "LogAppendTime"})
    stored = store_records(cluster, topic, [NewRecord(None, b"x", timestamp_ms=5)], NOW_MS)
    assert stored == [StoredRecord(0, 0, NOW_MS)]


@pytest.mark.parametrize(
    ("config", "record", "error_code", "message"),
    [
        ({"cleanup.policy": "compact"}, NewRecord(None, b"x"), ErrorCode.INVALID_RECORD, "key"),
        (
            {"message.timestamp.before.max.ms": "10"},
            NewRecord(b"k", b"x", timestamp_ms=5),
            ErrorCode.INVALID_TIMESTAMP,
            "out of range",
        ),
    ],
)
def test_the_checks_of_produce_apply(
    config: dict[str, str], record: NewRecord, error_code: ErrorCode, message: str
) -> None:
    cluster = make_cluster(2)
    topic = topic_of(cluster, 1, **config)
    refusal = store_records(cluster, topic, [NewRecord(b"k", b"fine"), record], NOW_MS)
    assert isinstance(refusal, Refusal)
    assert refusal.error_code is error_code
    assert message in (refusal.message or "")
    assert values(topic) == [[]]


def test_too_few_replicas_in_sync_refuse_records() -> None:
    cluster = make_cluster(2)
    topic = topic_of(cluster, 1, **{"min.insync.replicas": "2"})
    cluster.set_isr(topic.partitions[0], (1,), NOW_MS)
    refusal = store_records(cluster, topic, [NewRecord(None, b"x")], NOW_MS)
    assert isinstance(refusal, Refusal)
    assert refusal.error_code is ErrorCode.NOT_ENOUGH_REPLICAS


def test_all_records_are_stored_or_none_though_a_replica_leaves_during_a_pause() -> None:
    refused = 0
    for number in range(1, 20):
        cluster = make_cluster(2)
        config = {"min.insync.replicas": "2", "cleanup.policy": "compact"}
        topic = topic_of(cluster, 2, **config)
        new = [NewRecord(b"key", b"value", partition=index) for index in (0, 1)]

        def leave(cluster: Cluster = cluster, topic: Topic = topic) -> None:
            cluster.set_isr(topic.partitions[1], [1], NOW_MS)

        stored = run_with_pauses(
            partial(store_records, cluster, topic, new, NOW_MS), at_pause(number, leave)
        )

        is_refused = isinstance(stored, Refusal)
        refused += is_refused
        assert sum(map(len, values(topic))) == (0 if is_refused else 2)
    assert 0 < refused < number


def test_internal_topics_are_refused() -> None:
    cluster = make_cluster(2)
    topic = cluster.create_topic("__consumer_offsets", [(1,)], {})
    refusal = store_records(cluster, topic, [NewRecord(b"k", b"x")], NOW_MS)
    assert isinstance(refusal, Refusal)
    assert refusal.error_code is ErrorCode.INVALID_TOPIC_EXCEPTION
