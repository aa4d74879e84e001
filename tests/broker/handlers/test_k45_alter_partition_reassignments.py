from typing import Any

import pytest

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.replicas import is_reassigning
from broker.cluster.topics import Topic
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, call, make_cluster

VERSIONS = range(2)
_Topic = messages.AlterPartitionReassignmentsRequest.ReassignableTopic


def alter(
    cluster: Cluster,
    *moves: tuple[int, list[int] | None],
    topic_name: str = "a",
    version: int = 1,
    may_change_replication_factor: bool = True,
    timeout_ms: int = 1000,
) -> Any:
    partitions = [
        _Topic.ReassignablePartition(partition_index=index, replicas=replicas)
        for index, replicas in moves
    ]
    request = messages.AlterPartitionReassignmentsRequest(
        version=version,
        timeout_ms=timeout_ms,
        allow_replication_factor_change=may_change_replication_factor,
        topics=[_Topic(name=topic_name, partitions=partitions)],
    )
    return call(cluster, request, version)


def error_codes(response: Any) -> list[int]:
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    return [part.error_code for topic in response.responses for part in topic.partitions]


def cluster_and_topic() -> tuple[Cluster, Topic]:
    cluster = make_cluster(4)
    return cluster, cluster.create_topic("a", [(1, 2), (2, 3)], {})


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_moves_partitions_with_one_result_each(version: int) -> None:
    cluster, topic = cluster_and_topic()

    response = alter(cluster, (1, [4, 1]), (0, [9]), (2, [1]), (0, None), (0, [3]), version=version)

    assert error_codes(response) == [
        ErrorCode.NONE,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        ErrorCode.NONE,
    ]
    (responded,) = response.responses
    assert responded.name == "a"
    assert [part.partition_index for part in responded.partitions] == [1, 0, 2, 0, 0]
    assert "broker 9" in responded.partitions[1].error_message
    assert responded.partitions[0].error_message is None
    assert [part.replicas for part in topic.partitions] == [(3,), (4, 1)]
    assert [part.leader_id for part in topic.partitions] == [3, 4]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_waits_for_a_stopped_broker_and_can_cancel(version: int) -> None:
    cluster, topic = cluster_and_topic()
    failover.stop_broker(cluster, 4, NOW_MS)

    assert error_codes(alter(cluster, (0, [4, 1]), version=version)) == [ErrorCode.NONE]
    assert is_reassigning(topic.partitions[0])
    assert topic.partitions[0].leader_id == 1
    assert error_codes(alter(cluster, (0, None), version=version)) == [ErrorCode.NONE]
    assert not is_reassigning(topic.partitions[0])


def test_version_1_can_forbid_a_change_of_the_replication_factor() -> None:
    cluster, topic = cluster_and_topic()

    response = alter(cluster, (0, [3]), may_change_replication_factor=False)

    assert error_codes(response) == [ErrorCode.INVALID_REPLICATION_FACTOR]
    assert response.allow_replication_factor_change is False
    assert topic.partitions[0].replicas == (1, 2)


def test_version_0_can_always_change_the_replication_factor() -> None:
    cluster, topic = cluster_and_topic()

    assert error_codes(alter(cluster, (0, [3]), version=0)) == [ErrorCode.NONE]
    assert topic.partitions[0].replicas == (3,)


def test_a_missing_topic_gets_unknown_topic_or_partition() -> None:
    cluster, _ = cluster_and_topic()

    response = alter(cluster, (0, [1]), topic_name="b")

    assert error_codes(response) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    message = response.responses[0].partitions[0].error_message
    assert message == "Unable to find a topic named b."


@pytest.mark.parametrize("version", VERSIONS)
def test_no_partition_is_moved_without_time(version: int) -> None:
    cluster, topic = cluster_and_topic()
    response = alter(cluster, (0, [3]), version=version, timeout_ms=0)

    assert response.error_code == ErrorCode.REQUEST_TIMED_OUT
    ((partition,),) = (responded.partitions for responded in response.responses)
    assert partition.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert topic.partitions[0].replicas == (1, 2)
