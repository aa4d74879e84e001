"""AlterReplicaLogDirs: v1-2.

Behaviour:
    - Moves a replica to a directory that DescribeLogDirs shows, at once. Another directory gets
      LOG_DIR_NOT_FOUND.
    - A partition without a replica on the broker gets REPLICA_NOT_AVAILABLE, a missing one
      UNKNOWN_TOPIC_OR_PARTITION, a topic whose name is too long for a future directory
      INVALID_TOPIC_EXCEPTION.
    - One result per partition; the last directory that the request names for it counts. A topic
      without partitions has none.
    - Without ALTER on the cluster every partition gets CLUSTER_AUTHORIZATION_FAILED.

Gaps:
    - Results come in request order, not in the order of Kafka's hash maps, which no client reads.
"""

from broker.administration.log_dirs import move_replica
from broker.authorization.checks import ALTER_CLUSTER
from broker.cluster.cluster import Cluster
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause, paced

_Topic = messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult


@handles(ApiKey.ALTER_REPLICA_LOG_DIRS, checks=(ALTER_CLUSTER,))
@may_pause
def handle_alter_replica_log_dirs(
    context: RequestContext, request: "messages.AlterReplicaLogDirsRequest", cluster: Cluster
) -> "messages.AlterReplicaLogDirsResponse":
    """Kafka's `ReplicaManager.alterReplicaLogDirs`."""
    version = context.api_version
    is_denied = not is_allowed(context, cluster, ALTER_CLUSTER)
    paths: dict[str, dict[int, str]] = {}
    for directory in paced(request.dirs):
        for topic in paced(directory.topics):
            paths.setdefault(topic.name, {}).update(dict.fromkeys(topic.partitions, directory.path))
    return messages.AlterReplicaLogDirsResponse(
        version=version,
        throttle_time_ms=0,
        results=[
            _Topic(
                version=version,
                topic_name=topic_name,
                partitions=[
                    _Topic.AlterReplicaLogDirPartitionResult(
                        version=version,
                        partition_index=index,
                        error_code=ALTER_CLUSTER.error_code
                        if is_denied
                        else move_replica(cluster, context.broker_id, topic_name, index, path),
                    )
                    for index, path in paced(path_by_index.items())
                ],
            )
            for topic_name, path_by_index in paced(paths.items())
            if path_by_index
        ],
    )
