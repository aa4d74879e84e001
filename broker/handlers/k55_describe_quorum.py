"""DescribeQuorum: v0-2.

Behaviour:
    - Describes partition 0 of `__cluster_metadata`. Its leader is the controller, its voters are
      the brokers in controller.quorum.voters, or those of the start, its observers the others.
    - A request for anything else, or for more, gets UNKNOWN_TOPIC_OR_PARTITION for each partition.
    - From v1 a replica has the time of its last fetch: now, or -1 for a broker that is down. From
      v2 the response has the addresses of the voters.
    - Without DESCRIBE on the cluster the error is CLUSTER_AUTHORIZATION_FAILED.

Gaps:
    - There is no metadata log: its end grows with the time, by one record every
      metadata.max.idle.interval.ms.
    - Controllers that are no brokers are not listed: there are none.
    - Controllers have no separate listener: the address is that of the broker's first listener.
"""

from uuid import UUID

from broker.administration.quorum import (
    CLUSTER_METADATA_TOPIC,
    controller_listener_name,
    metadata_log_end_offset,
    observer_ids,
    voter_ids,
)
from broker.authorization.checks import DESCRIBE_CLUSTER
from broker.cluster.cluster import Cluster
from broker.errors import UNKNOWN_PARTITION_MESSAGE
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Topic = messages.DescribeQuorumResponse.TopicData
_Partition = _Topic.PartitionData
_Replica = _Partition.ReplicaState
_Node = messages.DescribeQuorumResponse.Node
NO_DIRECTORY_ID = UUID(int=0)
_NEVER = -1
NODES_VERSION_MIN = 2


@handles(ApiKey.DESCRIBE_QUORUM, checks=(DESCRIBE_CLUSTER,))
@may_pause
def handle_describe_quorum(
    context: RequestContext, request: "messages.DescribeQuorumRequest", cluster: Cluster
) -> "messages.DescribeQuorumResponse":
    """Kafka's `KafkaRaftClient.handleDescribeQuorumRequest`."""
    version = context.api_version
    if not is_allowed(context, cluster, DESCRIBE_CLUSTER):
        refusal = DESCRIBE_CLUSTER.refusal
        return messages.DescribeQuorumResponse(
            version=version,
            error_code=refusal.error_code,
            error_message=refusal.error_message,
            topics=[],
            nodes=[],
        )
    requested = [
        (topic.topic_name, partition.partition_index)
        for topic in paced(request.topics)
        for partition in paced(topic.partitions)
    ]
    is_valid = len(request.topics) == 1 and requested == [(CLUSTER_METADATA_TOPIC, 0)]
    topics = [
        _Topic(
            version=version,
            topic_name=topic.topic_name,
            partitions=[
                _describe(context, cluster) if is_valid else _unknown(version, partition)
                for partition in paced(topic.partitions)
            ],
        )
        for topic in paced(request.topics)
    ]
    return messages.DescribeQuorumResponse(
        version=version,
        error_code=ErrorCode.NONE,
        error_message="",
        topics=topics,
        nodes=_nodes(version, cluster) if is_valid and version >= NODES_VERSION_MIN else [],
    )


def _describe(context: RequestContext, cluster: Cluster) -> _Partition:
    return _Partition(
        version=context.api_version,
        partition_index=0,
        error_code=ErrorCode.NONE,
        error_message="",
        leader_id=cluster.controller_id,
        leader_epoch=cluster.controller_epoch,
        high_watermark=metadata_log_end_offset(cluster, context.now_ms),
        current_voters=_replicas(context, cluster, voter_ids(cluster)),
        observers=_replicas(context, cluster, observer_ids(cluster)),
    )


def _replicas(context: RequestContext, cluster: Cluster, node_ids: list[int]) -> list[_Replica]:
    replicas = []
    for node_id in node_ids:
        fetched_ms = context.now_ms if cluster.is_alive(node_id) else _NEVER
        replicas.append(
            _Replica(
                version=context.api_version,
                replica_id=node_id,
                replica_directory_id=NO_DIRECTORY_ID,
                log_end_offset=_NEVER
                if fetched_ms < 0
                else metadata_log_end_offset(cluster, fetched_ms),
                last_fetch_timestamp=fetched_ms,
                last_caught_up_timestamp=fetched_ms,
            )
        )
    return replicas


def _nodes(version: int, cluster: Cluster) -> list[_Node]:
    listener_name = controller_listener_name(cluster)
    return [
        _Node(
            version=version,
            node_id=node_id,
            listeners=[
                _Node.Listener(
                    version=version,
                    name=listener_name,
                    host=cluster.brokers[node_id].host,
                    port=cluster.brokers[node_id].port,
                )
            ],
        )
        for node_id in voter_ids(cluster)
    ]


def _unknown(
    version: int, requested: "messages.DescribeQuorumRequest.TopicData.PartitionData"
) -> _Partition:
    return _Partition(
        version=version,
        partition_index=requested.partition_index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message=UNKNOWN_PARTITION_MESSAGE,
    )
