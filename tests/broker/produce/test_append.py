"""An append changes the log, the producer's state and the stored bytes together, or nothing."""

import pytest

from broker.produce.append import ACKS_ALL, append_batch
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context
from tests.broker.interleaving import run_with_pauses


@pytest.mark.parametrize("batches", ["1", "5"])
def test_a_refused_batch_changes_nothing(batches: str) -> None:
    cluster = make_cluster(1, **{"producer.state.batches": batches})
    topic = cluster.create_topic("t", [(1,)], {})
    partition = topic.partitions[0]
    context = make_context(ApiKey.PRODUCE, 9)

    def send(sequence: int, damage: int = 0) -> int:
        batch = make_batch(b"v", producer_id=1, producer_epoch=0, base_sequence=sequence)
        batch = batch[: len(batch) - damage]
        result = append_batch(context, cluster, topic, partition, batch, 0, len(batch))
        return result.error_code

    assert send(0) == ErrorCode.NONE
    size_bytes = cluster.log_bytes
    assert send(1, damage=1) == ErrorCode.INVALID_RECORD
    assert send(2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (partition.log.log_end_offset, cluster.log_bytes) == (1, size_bytes)
    # The incomplete batch did not change the producer's state: its sequence is still the next.
    assert send(1) == ErrorCode.NONE


def test_the_stored_bytes_are_the_sum_of_the_logs() -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("t", [(1,), (1,)], {})
    context = make_context(ApiKey.PRODUCE, 9)
    batch = make_batch(b"x" * 50)
    for number in range(40):
        append_batch(context, cluster, topic, topic.partitions[number % 2], batch, 0, len(batch))

    assert cluster.log_bytes == sum(part.log.size_bytes for part in topic.partitions)
    assert cluster.log_bytes == 40 * len(batch)


def test_memory_stays_under_log_memory_max_bytes_and_the_newest_records_stay() -> None:
    cluster = make_cluster(1, **{"log.memory.max.bytes": "10000"})
    topic = cluster.create_topic("t", [(1,), (1,), (1,)], {})
    context = make_context(ApiKey.PRODUCE, 9)
    batch = make_batch(b"x" * 100)
    for number in range(500):
        index = 0 if number % 4 else number % 3
        partition = topic.partitions[index]
        result = append_batch(context, cluster, topic, partition, batch, 0, len(batch))
        assert partition.log.read(result.base_offset, 1, at_least_one=True)
        assert cluster.log_bytes <= 10_000

    assert cluster.log_bytes == sum(part.log.size_bytes for part in topic.partitions)


def test_a_batch_is_not_appended_to_a_topic_that_is_deleted_while_its_records_are_read() -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("t", [(1,)], {"cleanup.policy": "compact"})
    partition = topic.partitions[0]
    context = make_context(ApiKey.PRODUCE, 9)
    batch = make_batch(b"v")

    def delete() -> None:
        if cluster.topics.get("t") is topic:
            cluster.delete_topic(topic, context.now_ms)

    result = run_with_pauses(
        lambda: append_batch(context, cluster, topic, partition, batch, 0, len(batch)), delete
    )

    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (partition.log.log_end_offset, cluster.log_bytes) == (0, 0)


def test_a_batch_is_not_appended_if_a_replica_falls_behind_while_its_records_are_read() -> None:
    cluster = make_cluster(2)
    overrides = {"cleanup.policy": "compact", "min.insync.replicas": "2"}
    topic = cluster.create_topic("t", [(1, 2)], overrides)
    partition = topic.partitions[0]
    context = make_context(ApiKey.PRODUCE, 9)
    batch = make_batch(b"v")

    result = run_with_pauses(
        lambda: append_batch(
            context, cluster, topic, partition, batch, 0, len(batch), acks=ACKS_ALL
        ),
        lambda: cluster.set_isr(partition, [1], NOW_MS),
    )

    assert result.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert partition.log.log_end_offset == 0
