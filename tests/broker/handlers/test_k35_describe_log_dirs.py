from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from broker.cluster.paused_followers import pause_follower, resume_follower
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster.replicated_log import append, replicated
from tests.broker.cluster_builder import NOW_MS, call, make_cluster

VERSIONS = range(1, 6)


def cluster_with_topics() -> Cluster:
    """Topic `a` on brokers 1 and 2 with a batch of 7 bytes in partition 1; topic `b` on 3."""
    cluster = make_cluster(**{"log.memory.max.bytes": "1000"})
    topic = cluster.create_topic("a", [(1, 2), (2, 1)], {})
    cluster.create_topic("b", [(3,)], {})
    topic.partitions[1].log.append(b"a batch", 1, 0)
    cluster.appended(topic, topic.partitions[1], 7, NOW_MS)
    return cluster


def describe(
    cluster: Cluster,
    requested: list[tuple[str, list[int]]] | None,
    *,
    version: int = 5,
    broker_id: int = 1,
) -> Any:
    topic = messages.DescribeLogDirsRequest.DescribableLogDirTopic
    topics = (
        None
        if requested is None
        else [topic(topic=name, partitions=indexes) for name, indexes in requested]
    )
    request = messages.DescribeLogDirsRequest(version=version, topics=topics)
    response = call(cluster, request, version, broker_id=broker_id)
    assert response.error_code == ErrorCode.NONE
    (result,) = response.results
    return result


def sizes(result: Any) -> dict[str, dict[int, int]]:
    return {
        topic.name: {part.partition_index: part.partition_size for part in topic.partitions}
        for topic in result.topics
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_returns_the_sizes_of_a_brokers_partitions(version: int) -> None:
    result = describe(cluster_with_topics(), None, version=version)

    assert (result.error_code, result.log_dir) == (ErrorCode.NONE, "/mock-kafka/broker-1")
    assert sizes(result) == {"a": {0: 0, 1: 7}}
    for partition in result.topics[0].partitions:
        assert (partition.offset_lag, partition.is_future_key) == (0, False)
    if version >= 4:
        assert (result.total_bytes, result.usable_bytes) == (1000, 993)


def test_each_broker_has_its_own_log_directory() -> None:
    result = describe(cluster_with_topics(), None, broker_id=3)

    assert result.log_dir == "/mock-kafka/broker-3"
    assert sizes(result) == {"b": {0: 0}}


def test_requested_partitions_that_are_not_on_the_broker_are_omitted() -> None:
    cluster = cluster_with_topics()

    requested = [("a", [1, 5]), ("b", [0]), ("missing", [0])]
    assert sizes(describe(cluster, requested)) == {"a": {1: 7}}
    assert sizes(describe(cluster, [("a", [0]), ("a", [1])])) == {"a": {0: 0, 1: 7}}


def test_an_empty_list_of_topics_returns_none() -> None:
    result = describe(cluster_with_topics(), [])

    assert (result.log_dir, result.topics) == ("/mock-kafka/broker-1", [])


def test_each_directory_has_its_replicas() -> None:
    cluster = make_cluster(1, **{"log.dirs": "/a,/b", "cordoned.log.dirs": "/b"})
    cluster.create_topic("t", [(1,), (1,)], {})
    response = call(cluster, messages.DescribeLogDirsRequest(version=5, topics=None), 5)
    found = [(result.log_dir, sizes(result), result.is_cordoned) for result in response.results]
    assert found == [("/a", {"t": {0: 0, 1: 0}}, False), ("/b", {}, True)]


def test_a_replica_that_is_behind_has_the_size_of_what_it_has_fetched() -> None:
    cluster, _topic, partition = replicated()
    append(cluster, b"both")
    both_bytes = partition.log.size_bytes
    pause_follower(cluster, partition, 2, NOW_MS)
    append(cluster, b"not fetched")

    def found(broker_id: int) -> list[int]:
        (described,) = describe(cluster, None, broker_id=broker_id).topics[0].partitions
        return [described.partition_size, described.offset_lag]

    assert found(1) == [partition.log.size_bytes, 0]
    assert found(2) == [both_bytes, 0]
    cluster.delete_records_before(partition, 2, NOW_MS)
    assert found(2) == [0, 0]
    resume_follower(cluster, partition, 2, NOW_MS)
    assert found(2) == found(1)
