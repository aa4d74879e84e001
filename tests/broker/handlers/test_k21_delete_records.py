from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from broker.administration import record_deletion
from broker.cluster.cluster import Cluster
from broker.cluster.failover import stop_broker
from protocol import messages
from protocol.errors import ErrorCode
from tests.batches import filled_batch
from tests.broker.acl_cluster import AUTHORIZER, allow, send
from tests.broker.cluster_builder import NOW_MS, call, make_cluster
from tests.broker.interleaving import run_with_pauses

VERSIONS = range(3)
_Topic = messages.DeleteRecordsRequest.DeleteRecordsTopic


def cluster_with_ten_records(**overrides: str) -> Cluster:
    """Topic `a`: partition 0 led by broker 1 with five batches of two; partition 1 by broker 2."""
    cluster = make_cluster(**overrides)
    topic = cluster.create_topic("a", [(1, 2), (2, 1)], {})
    for offset in range(0, 10, 2):
        topic.partitions[0].log.append(filled_batch(offset, 2, size_bytes=70), 2, 0)
        cluster.appended(topic, topic.partitions[0], 70, NOW_MS)
    return cluster


def delete(
    cluster: Cluster,
    *requested: tuple[str, int, int],
    version: int = 2,
    timeout_ms: int = 1000,
) -> list[tuple[int, int]]:
    """Error code and low watermark of each (topic, partition, offset)."""
    request = messages.DeleteRecordsRequest(
        version=version,
        topics=[
            _Topic(
                name=name,
                partitions=[_Topic.DeleteRecordsPartition(partition_index=index, offset=offset)],
            )
            for name, index, offset in requested
        ],
        timeout_ms=timeout_ms,
    )
    topics: list[Any] = call(cluster, request, version).topics
    results = [(topic.name, part) for topic in topics for part in topic.partitions]
    assert [(name, part.partition_index) for name, part in results] == [w[:2] for w in requested]
    return [(part.error_code, part.low_watermark) for _, part in results]


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_without_time_for_the_followers_the_old_log_start_is_returned(timeout_ms: int) -> None:
    cluster = cluster_with_ten_records()
    timed_out = (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert delete(cluster, ("a", 0, 4), timeout_ms=timeout_ms) == [timed_out]
    # The records are gone, so there is nothing left to wait for.
    assert delete(cluster, ("a", 0, 4), timeout_ms=timeout_ms) == [(ErrorCode.NONE, 4)]
    stop_broker(cluster, 2, NOW_MS)
    assert delete(cluster, ("a", 0, 6), timeout_ms=timeout_ms) == [(ErrorCode.NONE, 6)]


def test_a_partition_that_occurs_twice_has_one_result_and_a_topic_without_partitions_none() -> None:
    topics = [
        _Topic(
            name="a",
            partitions=[
                _Topic.DeleteRecordsPartition(partition_index=0, offset=offset) for offset in (2, 5)
            ],
        ),
        _Topic(name="b", partitions=[]),
    ]
    request = messages.DeleteRecordsRequest(version=2, topics=topics, timeout_ms=1000)
    (topic,) = call(cluster_with_ten_records(), request, 2).topics
    assert [(part.partition_index, part.low_watermark) for part in topic.partitions] == [(0, 5)]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_moves_the_log_start_offset(version: int) -> None:
    cluster = cluster_with_ten_records()

    results = delete(cluster, ("a", 0, 5), ("a", 1, 0), ("a", 2, 0), ("b", 0, 0), version=version)

    assert results == [
        (ErrorCode.NONE, 5),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]
    topic = cluster.topics.get("a")
    assert topic is not None
    log = topic.partitions[0].log
    assert (log.log_start_offset, log.log_end_offset) == (5, 10)
    # The batch with offsets 4 and 5 is still needed.
    assert log.batch_count == 3
    assert cluster.log_bytes == log.size_bytes == 210


def test_offset_minus_one_deletes_all_records() -> None:
    cluster = cluster_with_ten_records()

    assert delete(cluster, ("a", 0, -1)) == [(ErrorCode.NONE, 10)]
    assert cluster.log_bytes == 0
    assert delete(cluster, ("a", 0, -1)) == [(ErrorCode.NONE, 10)]


def test_a_deleted_offset_returns_the_log_start_offset() -> None:
    cluster = cluster_with_ten_records()
    delete(cluster, ("a", 0, 6))

    assert delete(cluster, ("a", 0, 2)) == [(ErrorCode.NONE, 6)]


def test_an_offset_beyond_the_high_watermark_deletes_nothing() -> None:
    cluster = cluster_with_ten_records()

    assert delete(cluster, ("a", 0, 11)) == [(ErrorCode.OFFSET_OUT_OF_RANGE, -1)]
    assert cluster.log_bytes == 350


def delete_in_steps(
    cluster: Cluster, offset: int, monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return how many batches each of the steps of two batches deleted, and the response.

    `change` happens after the first of them.
    """
    monkeypatch.setattr(record_deletion, "BATCHES_PER_STEP", 2)
    topic = cluster.topics.get("a")
    assert topic is not None
    log = topic.partitions[0].log
    counts = [log.batch_count]

    def pause() -> None:
        if log.batch_count < counts[-1]:
            counts.append(log.batch_count)
            if len(counts) == 2:
                change()

    results = run_with_pauses(lambda: delete(cluster, ("a", 0, offset)), pause)
    counts.append(log.batch_count)
    return [before - after for before, after in pairwise(counts)], results


@pytest.mark.parametrize(("offset", "steps"), [(-1, [2, 2, 1]), (10, [2, 2, 1]), (9, [2, 2])])
def test_very_many_batches_are_deleted_in_steps_with_pauses(
    offset: int, steps: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = cluster_with_ten_records()
    found, results = delete_in_steps(cluster, offset, monkeypatch, lambda: None)
    assert found == steps
    assert results == [(ErrorCode.NONE, 10 if offset < 0 else offset)]


def test_a_leader_that_moves_in_a_pause_deletes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_with_ten_records()
    topic = cluster.topics.get("a")
    assert topic is not None
    found, results = delete_in_steps(
        cluster, 10, monkeypatch, lambda: cluster.set_leader(topic.partitions[0], 2, NOW_MS)
    )
    assert found == [2, 0]
    assert results == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_without_delete_on_the_topic_its_partitions_are_denied(version: int) -> None:
    cluster = cluster_with_ten_records(**AUTHORIZER)
    allow(cluster, "DELETE TOPIC gone", "ALTER TOPIC a", "DELETE CLUSTER")
    denied = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1)
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    requested = (("a", 0, 4), ("missing", 0, 4), ("gone", 0, 4))
    assert delete(cluster, *requested, version=version) == [denied, denied, unknown]
    allow(cluster, "DELETE TOPIC a")
    assert delete(cluster, ("a", 0, 4), version=version) == [(ErrorCode.NONE, 4)]


def test_a_denied_topic_is_noted_once_for_all_its_partitions() -> None:
    partitions = [
        _Topic.DeleteRecordsPartition(partition_index=index, offset=1) for index in range(3)
    ]
    request = messages.DeleteRecordsRequest(
        version=2, topics=[_Topic(name="a", partitions=partitions)], timeout_ms=1000
    )
    response, denials = send(cluster_with_ten_records(**AUTHORIZER), request, 2)
    assert [part.error_code for part in response.topics[0].partitions] == [29, 29, 29]
    assert denials == ["DELETE TOPIC a"]
