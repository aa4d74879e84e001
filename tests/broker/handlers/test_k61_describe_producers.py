"""DescribeProducers: the producer state of partitions, from any of their replicas."""

from collections.abc import Sequence
from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.produce.append import append_batch
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, call, make_cluster, make_context

RULE_SETS = ["1", "5"]


def describe(
    cluster: Cluster, requested: Sequence[tuple[str, Sequence[int]]], *, broker_id: int = 1
) -> list[tuple[str, list[Any]]]:
    """Return the topic names of the response with their partitions."""
    topic = messages.DescribeProducersRequest.TopicRequest
    request = messages.DescribeProducersRequest(
        topics=[topic(name=name, partition_indexes=list(indexes)) for name, indexes in requested]
    )
    response = call(cluster, request, 0, broker_id=broker_id)
    assert response.throttle_time_ms == 0
    return [(described.name, list(described.partitions)) for described in response.topics]


def rows(partition: Any) -> list[tuple[int, ...]]:
    return [
        (
            row.producer_id,
            row.producer_epoch,
            row.last_sequence,
            row.last_timestamp,
            row.coordinator_epoch,
            row.current_txn_start_offset,
        )
        for row in partition.active_producers
    ]


def send(
    cluster: Cluster,
    topic: Topic,
    producer_id: int,
    base_sequence: int,
    *timestamps: int,
    producer_epoch: int = 0,
    partition_index: int = 0,
) -> None:
    batch = make_batch(
        *[b"v"] * len(timestamps),
        timestamps=list(timestamps),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )
    partition = topic.partitions[partition_index]
    context = make_context(ApiKey.PRODUCE, 9, broker_id=partition.leader_id)
    result = append_batch(context, cluster, topic, partition, batch, 0, len(batch))
    assert result.error_code == ErrorCode.NONE


@pytest.mark.parametrize("batches", RULE_SETS)
def test_each_producer_is_described_by_its_latest_batch(batches: str) -> None:
    cluster = make_cluster(1, **{"producer.state.batches": batches})
    topic = cluster.create_topic("t", [(1,), (1,)], {})
    send(cluster, topic, 70, 0, NOW_MS, NOW_MS + 9, NOW_MS + 4)
    send(cluster, topic, 8, 5, NOW_MS, producer_epoch=3)
    send(cluster, topic, 8, 0, NOW_MS + 1, NOW_MS + 2, producer_epoch=4)
    send(cluster, topic, -1, -1, NOW_MS, producer_epoch=-1)
    send(cluster, topic, 70, 2**31 - 1, NOW_MS, NOW_MS, partition_index=1)

    ((name, partitions),) = describe(cluster, [("t", [1, 0])])

    assert name == "t"
    assert [part.partition_index for part in partitions] == [1, 0]
    assert {part.error_code for part in partitions} == {ErrorCode.NONE}
    assert {part.error_message for part in partitions} == {None}
    assert rows(partitions[0]) == [(70, 0, 0, NOW_MS, -1, -1)]
    assert rows(partitions[1]) == [
        (8, 4, 1, NOW_MS + 2, -1, -1),
        (70, 0, 2, NOW_MS + 9, -1, -1),
    ]


def test_a_partition_without_idempotent_producers_has_none() -> None:
    cluster = make_cluster(1)
    cluster.create_topic("t", [(1,)], {})
    ((_, (partition,)),) = describe(cluster, [("t", [0])])
    assert (partition.error_code, list(partition.active_producers)) == (ErrorCode.NONE, [])


def test_a_missing_partition_fails_alone() -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("t", [(1,)], {})
    send(cluster, topic, 1, 0, NOW_MS)

    (_, known), (_, unknown) = describe(cluster, [("t", [0, 1, -1]), ("missing", [0])])

    assert [part.error_code for part in known + unknown] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert [len(part.active_producers) for part in known + unknown] == [1, 0, 0, 0]


def test_only_replicas_serve_the_request() -> None:
    cluster = make_cluster(3)
    topic = cluster.create_topic("t", [(1, 2)], {})
    send(cluster, topic, 1, 0, NOW_MS)
    expected = [(1, 0, 0, NOW_MS, -1, -1)]

    for broker_id in (1, 2):
        ((_, (partition,)),) = describe(cluster, [("t", [0])], broker_id=broker_id)
        assert (partition.error_code, rows(partition)) == (ErrorCode.NONE, expected)
    ((_, (partition,)),) = describe(cluster, [("t", [0])], broker_id=3)
    assert (partition.error_code, rows(partition)) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, [])


def test_the_next_leader_returns_the_producers_of_the_last_one() -> None:
    cluster = make_cluster(3)
    topic = cluster.create_topic("t", [(1, 2)], {})
    send(cluster, topic, 1, 0, NOW_MS)
    cluster.set_leader(topic.partitions[0], 2, NOW_MS)
    send(cluster, topic, 1, 1, NOW_MS)

    ((_, (partition,)),) = describe(cluster, [("t", [0])], broker_id=2)
    assert rows(partition) == [(1, 0, 1, NOW_MS, -1, -1)]
