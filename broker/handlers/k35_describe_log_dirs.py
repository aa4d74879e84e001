"""DescribeLogDirs: v1-5.

Behaviour:
    - Describes the directories of log.dirs or log.dir, or one that is named after the broker, with
      every partition of which it has a replica. New ones go to the directory with the fewest. A
      null list of topics means all; partitions without a replica are left out.
    - A partition's size is that of its segments: what DeleteRecords has deleted counts until
      retention deletes the segment. A replica that is behind has the size of what it has fetched.
    - offset_lag is the high watermark minus the log end offset of the replica, and at least 0. It
      is 0 for all: only a move between directories makes it larger, and that takes no time.
    - v5 says whether cordoned.log.dirs has the directory (KIP-1066). New replicas are then placed
      on other brokers, if all directories are cordoned.
    - Without DESCRIBE on the cluster there are no directories, and from v3 the error is
      CLUSTER_AUTHORIZATION_FAILED.

Gaps:
    - Directories are names only: records are in memory. From v4, total_bytes is
      log.memory.max.bytes and usable_bytes the rest of it, both over all brokers.
"""

from broker.administration.log_dirs import dir_of, place_replicas
from broker.authorization.checks import DESCRIBE_CLUSTER
from broker.cluster.cluster import Cluster
from broker.cluster.cordoned_dirs import is_dir_cordoned, log_dirs
from broker.cluster.topics import Partition
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Result = messages.DescribeLogDirsResponse.DescribeLogDirsResult
_Topic = _Result.DescribeLogDirsTopic
_Partition = _Topic.DescribeLogDirsPartition


@handles(ApiKey.DESCRIBE_LOG_DIRS, checks=(DESCRIBE_CLUSTER,))
@may_pause
def handle_describe_log_dirs(
    context: RequestContext, request: "messages.DescribeLogDirsRequest", cluster: Cluster
) -> "messages.DescribeLogDirsResponse":
    """Kafka's `ReplicaManager.describeLogDirs`."""
    version, broker_id = context.api_version, context.broker_id
    if not is_allowed(context, cluster, DESCRIBE_CLUSTER):
        return messages.DescribeLogDirsResponse(
            version=version,
            throttle_time_ms=0,
            error_code=DESCRIBE_CLUSTER.error_code,
            results=[],
        )
    place_replicas(cluster, broker_id)
    stored = _stored(cluster, broker_id, request.topics)
    total_bytes = cluster.shared_config["log.memory.max.bytes"]
    results = [
        _Result(
            version=version,
            error_code=ErrorCode.NONE,
            log_dir=path,
            topics=_topics(version, broker_id, stored.get(path, {})),
            total_bytes=total_bytes,
            usable_bytes=max(0, total_bytes - cluster.log_bytes),
            is_cordoned=is_dir_cordoned(cluster, broker_id, path),
        )
        for path in log_dirs(cluster, broker_id)
    ]
    return messages.DescribeLogDirsResponse(
        version=version, throttle_time_ms=0, error_code=ErrorCode.NONE, results=results
    )


@may_pause
def _topics(version: int, broker_id: int, stored: dict[str, list[Partition]]) -> list[_Topic]:
    topics = []
    for name, partitions in paced(stored.items()):
        described = [
            _Partition(
                version=version,
                partition_index=partition.partition_index,
                partition_size=partition.segment_bytes_of(broker_id),
                offset_lag=0,
                is_future_key=False,
            )
            for partition in paced(partitions)
        ]
        topics.append(_Topic(version=version, name=name, partitions=described))
    return topics


@may_pause
def _stored(
    cluster: Cluster,
    broker_id: int,
    requested_topics: list["messages.DescribeLogDirsRequest.DescribableLogDirTopic"] | None,
) -> dict[str, dict[str, list[Partition]]]:
    """Return the requested partitions of the broker by directory and topic."""
    requested_indexes: dict[str, set[int]] = {}
    for requested_topic in paced(requested_topics or ()):
        requested_indexes.setdefault(requested_topic.topic, set()).update(
            requested_topic.partitions
        )
    stored: dict[str, dict[str, list[Partition]]] = {}
    for topic in paced(cluster.topics.all()):
        if requested_topics is not None and topic.name not in requested_indexes:
            continue
        for partition in paced(topic.partitions):
            if broker_id in partition.replicas and (
                requested_topics is None
                or partition.partition_index in requested_indexes[topic.name]
            ):
                of_dir = stored.setdefault(dir_of(cluster, broker_id, partition), {})
                of_dir.setdefault(topic.name, []).append(partition)
    return stored
