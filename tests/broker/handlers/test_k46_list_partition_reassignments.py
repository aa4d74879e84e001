from typing import Any

import pytest

from broker.administration.reassignment import start_reassignment
from broker.cluster import failover
from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, call, make_cluster

VERSIONS = range(1)
_Topic = messages.ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics


def cluster_with_a_waiting_move() -> Cluster:
    """Partition 1 of `a` waits to move from 2,1 to 3,1; partitions 0 and topic `b` don't move."""
    cluster = make_cluster()
    for name in ("a", "b"):
        cluster.create_topic(name, [(1, 2), (2, 1)], {})
    failover.stop_broker(cluster, 3, NOW_MS)
    start_reassignment(cluster, "a", 1, (3, 1), NOW_MS)
    return cluster


def ongoing(
    cluster: Cluster, requested: list[tuple[str, list[int]]] | None, version: int = 0
) -> dict[tuple[str, int], tuple[list[int], list[int], list[int]]]:
    topics: list[Any] | None = None
    if requested is not None:
        topics = [_Topic(name=name, partition_indexes=indexes) for name, indexes in requested]
    request = messages.ListPartitionReassignmentsRequest(
        version=version, timeout_ms=1000, topics=topics
    )
    response = call(cluster, request, version)
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    return {
        (topic.name, part.partition_index): (
            part.replicas,
            part.adding_replicas,
            part.removing_replicas,
        )
        for topic in response.topics
        for part in topic.partitions
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_waiting_move_is_listed_with_adding_and_removing_replicas(version: int) -> None:
    cluster = cluster_with_a_waiting_move()

    assert ongoing(cluster, None, version) == {("a", 1): ([3, 1, 2], [3], [2])}


def test_requested_partitions_without_a_reassignment_are_omitted() -> None:
    cluster = cluster_with_a_waiting_move()

    assert list(ongoing(cluster, [("b", [0]), ("c", [0]), ("a", [0, 1, 7])])) == [("a", 1)]
    assert ongoing(cluster, [("a", [0])]) == {}
    assert ongoing(cluster, []) == {}
