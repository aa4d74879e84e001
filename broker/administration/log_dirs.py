"""The log directories of brokers: where each replica is, and its move.

The directories are those of `log.dirs` or `log.dir`, and by default one that is named after the
broker. They are names only: records are in memory, and a move takes no time.

Sources: Kafka's `ReplicaManager.alterReplicaLogDirs` and `LogManager.nextLogDirs`.
"""

from collections import Counter

from broker.cluster.cluster import Cluster
from broker.cluster.cordoned_dirs import is_dir_cordoned, log_dirs
from broker.cluster.topics import Partition
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_DIR_NAME_MAX = 255
_FUTURE_SUFFIX_LENGTH = len(".") + 32 + len("-future")
"""Kafka adds an id of 32 digits to the directory of a replica that moves."""


@may_pause
def place_replicas(cluster: Cluster, broker_id: int) -> None:
    """Have each replica of a broker that has no directory go where the fewest are.

    It goes to no directory that is cordoned, unless all are. Kafka does so when it makes a log,
    we when somebody looks.
    """
    broker = cluster.brokers[broker_id]
    paths = log_dirs(cluster, broker_id)
    if len(paths) == 1:
        broker.replica_dirs = {}
        return
    replicas = [
        (topic.topic_id, partition.partition_index)
        for topic in paced(cluster.topics.all())
        for partition in topic.partitions
        if broker_id in partition.replicas
    ]
    known = broker.replica_dirs
    placed = {replica: known[replica] for replica in replicas if known.get(replica) in paths}
    counts = Counter(placed.values())
    free = [path for path in paths if not is_dir_cordoned(cluster, broker_id, path)]
    for replica in replicas:
        if replica not in placed:
            path = min(free or paths[:1], key=lambda path: counts[path])
            counts[path] += 1
            placed[replica] = path
    broker.replica_dirs = placed


def dir_of(cluster: Cluster, broker_id: int, partition: Partition) -> str:
    """Return the directory of a broker's replica, after `place_replicas`."""
    topic = cluster.topics.get(partition.topic_name)
    name = None if topic is None else (topic.topic_id, partition.partition_index)
    first = log_dirs(cluster, broker_id)[0]
    return first if name is None else cluster.brokers[broker_id].replica_dirs.get(name, first)


@may_pause
def move_replica(
    cluster: Cluster, broker_id: int, topic_name: str, partition_index: int, path: str
) -> ErrorCode:
    """Move a broker's replica to another of its directories; return the error."""
    if len(f"{topic_name}-{partition_index}") + _FUTURE_SUFFIX_LENGTH > _DIR_NAME_MAX:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if path not in log_dirs(cluster, broker_id):
        return ErrorCode.LOG_DIR_NOT_FOUND
    if is_dir_cordoned(cluster, broker_id, path):
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    topic = cluster.topics.get(topic_name)
    if topic is None or not 0 <= partition_index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker_id not in topic.partitions[partition_index].replicas:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    place_replicas(cluster, broker_id)
    replica_dirs = cluster.brokers[broker_id].replica_dirs
    if replica_dirs:
        replica_dirs[topic.topic_id, partition_index] = path
    return ErrorCode.NONE
