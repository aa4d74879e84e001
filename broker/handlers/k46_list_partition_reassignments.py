"""ListPartitionReassignments: v0.

Behaviour:
    - Lists the partitions whose reassignment waits for a broker that is down, with all replicas and
      those that are added and removed. A null list means all. Other partitions are left out.
    - Without DESCRIBE on the cluster the error is CLUSTER_AUTHORIZATION_FAILED, and the requested
      partitions have no replicas.
"""

from broker.authorization.checks import DESCRIBE_CLUSTER
from broker.cluster.cluster import Cluster
from broker.cluster.replicas import is_reassigning
from broker.cluster.topics import Partition
from broker.errors import Refusal
from broker.request.cluster_operation import refuse_cluster_operation
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Topic = messages.ListPartitionReassignmentsResponse.OngoingTopicReassignment
_Partition = _Topic.OngoingPartitionReassignment


@handles(ApiKey.LIST_PARTITION_REASSIGNMENTS, checks=(DESCRIBE_CLUSTER,))
@may_pause
def handle_list_partition_reassignments(
    context: RequestContext, request: "messages.ListPartitionReassignmentsRequest", cluster: Cluster
) -> "messages.ListPartitionReassignmentsResponse":
    """Kafka's `ReplicationControlManager.listPartitionReassignments`."""
    version = context.api_version
    denial = refuse_cluster_operation(context, cluster, DESCRIBE_CLUSTER)
    if denial is not None:
        return _denied(version, request, denial)
    topics = []
    for name, partitions in _asked(request, cluster):
        ongoing = [_describe(version, part) for part in paced(partitions) if is_reassigning(part)]
        if ongoing:
            topics.append(_Topic(version=version, name=name, partitions=ongoing))
    return messages.ListPartitionReassignmentsResponse(
        version=version,
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        error_message=None,
        topics=topics,
    )


@may_pause
def _denied(
    version: int, request: "messages.ListPartitionReassignmentsRequest", denial: Refusal
) -> "messages.ListPartitionReassignmentsResponse":
    return messages.ListPartitionReassignmentsResponse(
        version=version,
        throttle_time_ms=0,
        error_code=denial.error_code,
        error_message=denial.error_message,
        topics=[
            _Topic(
                version=version,
                name=topic.name,
                partitions=[
                    _Partition(version=version, partition_index=index)
                    for index in paced(topic.partition_indexes)
                ],
            )
            for topic in paced(request.topics or ())
        ],
    )


@may_pause
def _asked(
    request: "messages.ListPartitionReassignmentsRequest", cluster: Cluster
) -> list[tuple[str, list[Partition]]]:
    if request.topics is None:
        return [(topic.name, topic.partitions) for topic in paced(cluster.topics.all())]
    requested = []
    for requested_topic in paced(request.topics):
        topic = cluster.topics.get(requested_topic.name)
        if topic is not None:
            found = [topic.partition(index) for index in paced(requested_topic.partition_indexes)]
            requested.append((requested_topic.name, [part for part in found if part is not None]))
    return requested


def _describe(version: int, partition: Partition) -> _Partition:
    return _Partition(
        version=version,
        partition_index=partition.partition_index,
        replicas=list(partition.replicas),
        adding_replicas=list(partition.adding_replicas),
        removing_replicas=list(partition.removing_replicas),
    )
