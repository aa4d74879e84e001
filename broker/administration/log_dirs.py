"""Log directories: each broker has one, and no replica moves between directories.

Source: Kafka's `ReplicaManager.alterReplicaLogDirs`.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.cordoned_dirs import is_cordoned
from broker.config.broker_requirements import LOG_DIR
from protocol.errors import ErrorCode

_DIR_NAME_MAX = 255
_FUTURE_SUFFIX_LENGTH = len(".") + 32 + len("-future")
"""Kafka adds an id of 32 digits to the directory of a replica that moves."""


def log_dir(broker_id: int) -> str:
    """Return the path of a broker's only log directory."""
    return LOG_DIR.format(broker_id)


def move_replica(
    cluster: Cluster, broker_id: int, topic_name: str, partition_index: int, path: str
) -> ErrorCode:
    """Return the result of moving a broker's replica to a directory, where it is already."""
    if len(f"{topic_name}-{partition_index}") + _FUTURE_SUFFIX_LENGTH > _DIR_NAME_MAX:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if path != log_dir(broker_id):
        return ErrorCode.LOG_DIR_NOT_FOUND
    if is_cordoned(cluster, broker_id):
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    topic = cluster.topics.get(topic_name)
    if topic is None or not 0 <= partition_index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker_id not in topic.partitions[partition_index].replicas:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    return ErrorCode.NONE
