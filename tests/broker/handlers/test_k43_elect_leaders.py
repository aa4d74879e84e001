from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, call, make_cluster

VERSIONS = range(3)
PREFERRED, UNCLEAN = 0, 1


def elect(
    cluster: Cluster,
    requested: list[tuple[str, list[int]]] | None,
    election_type: int = PREFERRED,
    version: int = 2,
    timeout_ms: int = 1000,
) -> Any:
    topic = messages.ElectLeadersRequest.TopicPartitions
    partitions = None
    if requested is not None:
        partitions = [topic(topic=name, partitions=indexes) for name, indexes in requested]
    request = messages.ElectLeadersRequest(
        version=version,
        election_type=election_type,
        topic_partitions=partitions,
        timeout_ms=timeout_ms,
    )
    return call(cluster, request, version)


def results(response: Any) -> dict[str, dict[int, int]]:
    return {
        topic.topic: {part.partition_id: part.error_code for part in topic.partition_result}
        for topic in response.replica_election_results
    }


def cluster_with_moved_leader() -> Cluster:
    """Topic `a`: partition 0 led by its second replica, partition 1 by its first."""
    cluster = make_cluster()
    topic = cluster.create_topic("a", [(1, 2), (2, 3)], {})
    cluster.set_leader(topic.partitions[0], 2, NOW_MS)
    return cluster


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_elects_preferred_leaders(version: int) -> None:
    cluster = cluster_with_moved_leader()

    response = elect(cluster, [("a", [0, 1, 2]), ("b", [0])], version=version)

    assert response.error_code == ErrorCode.NONE
    assert results(response) == {
        "a": {
            0: ErrorCode.NONE,
            1: ErrorCode.ELECTION_NOT_NEEDED,
            2: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        },
        "b": {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
    }
    error_messages = [
        part.error_message for part in response.replica_election_results[0].partition_result
    ]
    assert error_messages == [
        None,
        "Leader election not needed for topic partition.",
        "No such partition as a-2",
    ]
    topic = cluster.topics.get("a")
    assert topic is not None
    assert [part.leader_id for part in topic.partitions] == [1, 2]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_for_all_partitions_omits_those_that_need_no_election(version: int) -> None:
    cluster = cluster_with_moved_leader()

    assert results(elect(cluster, None, version=version)) == {"a": {0: ErrorCode.NONE}}
    assert results(elect(cluster, None, version=version)) == {"a": {}}


@pytest.mark.parametrize("version", [1, 2])
def test_an_unclean_election_elects_a_leader_if_there_is_none(version: int) -> None:
    cluster = cluster_with_moved_leader()
    topic = cluster.topics.get("a")
    assert topic is not None
    cluster.set_leader(topic.partitions[0], -1, NOW_MS)
    topic.partitions[0].isr = (3,)

    response = elect(cluster, [("a", [0, 1])], UNCLEAN, version)

    assert results(response) == {
        "a": {0: ErrorCode.NONE, 1: ErrorCode.ELECTION_NOT_NEEDED},
    }
    assert topic.partitions[0].leader_id == 1


@pytest.mark.parametrize("requested", [[("a", [0])], None])
def test_an_unknown_election_type_elects_no_leader(
    requested: list[tuple[str, list[int]]] | None,
) -> None:
    cluster = cluster_with_moved_leader()

    response = elect(cluster, requested, election_type=2)

    assert response.error_code == ErrorCode.INVALID_REQUEST
    expected = {"a": {0: ErrorCode.INVALID_REQUEST}} if requested else {}
    assert results(response) == expected
    topic = cluster.topics.get("a")
    assert topic is not None
    assert topic.partitions[0].leader_id == 2


def test_version_0_has_only_preferred_elections() -> None:
    cluster = cluster_with_moved_leader()

    response = elect(cluster, [("a", [0])], election_type=0, version=0)

    assert results(response) == {"a": {0: ErrorCode.NONE}}


@pytest.mark.parametrize("version", VERSIONS)
def test_no_leader_is_elected_without_time(version: int) -> None:
    cluster = cluster_with_moved_leader()
    response = elect(cluster, [("a", [0])], version=version, timeout_ms=0)

    assert results(response) == {"a": {0: ErrorCode.REQUEST_TIMED_OUT}}
    topic = cluster.topics.get("a")
    assert topic is not None
    assert topic.partitions[0].leader_id == 2
    assert results(elect(cluster, None, version=version, timeout_ms=0)) == {}
    assert elect(cluster, [], timeout_ms=0).error_code == ErrorCode.NONE
