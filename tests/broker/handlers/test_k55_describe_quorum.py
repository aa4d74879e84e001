"""DescribeQuorum on the wire."""

from typing import Any

import pytest

from broker.cluster import failover
from broker.cluster.broker_membership import add_broker, new_broker
from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, call, make_cluster

VERSIONS = range(3)
_Topic = messages.DescribeQuorumRequest.TopicData


def describe(cluster: Cluster, version: int, name: str, *indexes: int, broker_id: int = 1) -> Any:
    partitions = [_Topic.PartitionData(partition_index=index) for index in indexes]
    request = messages.DescribeQuorumRequest(
        version=version, topics=[_Topic(topic_name=name, partitions=partitions)]
    )
    return call(cluster, request, version, broker_id=broker_id)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_describes_the_controllers(version: int) -> None:
    cluster = make_cluster(2)
    add_broker(cluster, new_broker(cluster), NOW_MS)
    response = describe(cluster, version, "__cluster_metadata", 0)

    ((partition,),) = (topic.partitions for topic in response.topics)
    assert (partition.leader_id, partition.leader_epoch) == (1, 1)
    assert [voter.replica_id for voter in partition.current_voters] == [1, 2]
    assert [observer.replica_id for observer in partition.observers] == [3]
    assert partition.current_voters[0].log_end_offset == partition.high_watermark
    if version >= 1:
        assert partition.current_voters[1].last_fetch_timestamp == NOW_MS
    if version >= 2:
        assert [
            (node.node_id, listener.name, listener.host, listener.port)
            for node in response.nodes
            for listener in node.listeners
        ] == [(1, "CONTROLLER", "localhost", 9092), (2, "CONTROLLER", "localhost", 9093)]


def test_the_leader_and_its_epoch_change_when_the_controller_stops() -> None:
    cluster = make_cluster(2)
    failover.stop_broker(cluster, 1, NOW_MS)
    response = describe(cluster, 2, "__cluster_metadata", 0, broker_id=2)

    ((partition,),) = (topic.partitions for topic in response.topics)
    assert (partition.leader_id, partition.leader_epoch) == (2, 2)
    stopped = partition.current_voters[0]
    assert (stopped.replica_id, stopped.last_fetch_timestamp) == (1, -1)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "indexes"), [("a", (0,)), ("__cluster_metadata", (1,)), ("__cluster_metadata", (0, 1))]
)
def test_there_is_no_other_quorum(version: int, name: str, indexes: tuple[int, ...]) -> None:
    response = describe(make_cluster(1), version, name, *indexes)

    ((*partitions,),) = (topic.partitions for topic in response.topics)
    assert [(part.partition_index, part.error_code) for part in partitions] == [
        (index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for index in indexes
    ]
