import pytest

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.batches import filled_batch
from tests.broker.cluster_builder import NOW_MS, call, make_cluster

VERSIONS = range(2, 5)
_Topic = messages.OffsetForLeaderEpochRequest.OffsetForLeaderTopic


def cluster_with_epochs() -> Cluster:
    """Topic `a` with two records of epoch 0 and one of epoch 2, led by broker 1 in epoch 2."""
    cluster = make_cluster()
    partition = cluster.create_topic("a", [(1, 2)], {}).partitions[0]
    partition.log.append(filled_batch(0, 2), 2, 0)
    cluster.set_leader(partition, 2, NOW_MS)
    cluster.set_leader(partition, 1, NOW_MS)
    partition.log.append(filled_batch(partition.log.log_end_offset), 1, 2)
    return cluster


def ask(
    cluster: Cluster,
    leader_epoch: int,
    *,
    current_leader_epoch: int = -1,
    version: int = 4,
    broker_id: int = 1,
    partition: int = 0,
) -> tuple[int, int, int]:
    """Return error code, leader epoch and end offset for one partition of topic `a`."""
    requested_partition = _Topic.OffsetForLeaderPartition(
        partition=partition, current_leader_epoch=current_leader_epoch, leader_epoch=leader_epoch
    )
    request = messages.OffsetForLeaderEpochRequest(
        version=version, replica_id=-1, topics=[_Topic(topic="a", partitions=[requested_partition])]
    )
    (topic,) = call(cluster, request, version, broker_id=broker_id).topics
    (response,) = topic.partitions
    assert (topic.topic, response.partition) == ("a", partition)
    return response.error_code, response.leader_epoch, response.end_offset


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_returns_the_end_offset_of_an_epoch(version: int) -> None:
    cluster = cluster_with_epochs()

    responses = [ask(cluster, epoch, version=version) for epoch in range(-1, 4)]

    assert responses == [(0, -1, -1), (0, 0, 2), (0, 0, 2), (0, 2, 3), (0, -1, -1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_checks_leader_and_current_epoch(version: int) -> None:
    cluster = cluster_with_epochs()

    assert ask(cluster, 0, current_leader_epoch=1, version=version) == (
        ErrorCode.FENCED_LEADER_EPOCH,
        -1,
        -1,
    )
    assert ask(cluster, 0, current_leader_epoch=3, version=version) == (
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        -1,
        -1,
    )
    assert ask(cluster, 0, current_leader_epoch=2, version=version) == (ErrorCode.NONE, 0, 2)
    assert ask(cluster, 0, broker_id=2, version=version) == (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        -1,
        -1,
    )


def test_a_missing_partition_gets_unknown_topic_or_partition() -> None:
    assert ask(make_cluster(), 0) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    assert ask(cluster_with_epochs(), 0, partition=1) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        -1,
        -1,
    )
