"""Move a partition to other brokers (KIP-455).

All replicas share one log, so there is nothing to copy. A reassignment completes when every broker
that it names is up, and a throttled copy would have ended.

Sources: Kafka's `ReplicationControlManager.alterPartitionReassignment`,
`PartitionReassignmentReplicas` and `PartitionReassignmentRevert`.
"""

from collections.abc import Sequence
from functools import lru_cache

from broker.administration.placement import check_replicas
from broker.cluster.cluster import Cluster
from broker.cluster.replicas import complete_reassignment, forget_copy, is_reassigning
from broker.cluster.topics import Partition, Topic
from broker.errors import Refusal
from protocol.errors import ErrorCode
from protocol.pacing import may_pause


@may_pause
def start_reassignment(
    cluster: Cluster,
    topic_name: str,
    partition_index: int,
    replicas: Sequence[int],
    now_ms: int,
    *,
    may_change_replication_factor: bool = True,
) -> Refusal | None:
    """Move a partition to `replicas`; complete the move at once if possible.

    It replaces a waiting move, whose new replicas are then to be removed like the old ones.
    """
    found = _find(cluster, topic_name, partition_index)
    if isinstance(found, Refusal):
        return found
    _, partition = found
    refusal = check_replicas(cluster, replicas)
    if refusal is not None:
        return refusal
    count = len(partition.replicas) - len(partition.removing_replicas)
    if not may_change_replication_factor and len(replicas) != count:
        return Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {count} to {len(replicas)}",
        )
    current, target = partition.replicas, tuple(replicas)
    if target == current:
        return None
    forget_copy(cluster, partition)
    adding = tuple(sorted(set(target) - set(current)))
    removing = tuple(sorted(set(current) - set(target)))
    partition.adding_replicas = adding or partition.adding_replicas
    partition.removing_replicas = removing or partition.removing_replicas
    if is_reassigning(partition):
        cluster.assign(partition, target + removing, now_ms)
        complete_reassignment(cluster, partition, now_ms)
    else:
        # Only the order changes: no broker to wait for.
        cluster.set_replicas(partition, target, now_ms)
    return None


@may_pause
def cancel_reassignment(
    cluster: Cluster, topic_name: str, partition_index: int, now_ms: int
) -> Refusal | None:
    """Cancel a waiting move and return the partition to its original brokers."""
    found = _find(cluster, topic_name, partition_index)
    if isinstance(found, Refusal):
        return found
    topic, partition = found
    if not is_reassigning(partition):
        return Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)
    original = [n for n in partition.replicas if n not in partition.adding_replicas]
    is_clean = any(node_id in original for node_id in partition.isr)
    if not is_clean and not topic.config["unclean.leader.election.enable"]:
        return Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Unable to revert partition assignment for {topic_name}:{partition_index} because "
            "it would require an unclean leader election.",
        )
    forget_copy(cluster, partition)
    cluster.set_replicas(partition, original, now_ms)
    return None


def _find(
    cluster: Cluster, topic_name: str, partition_index: int
) -> tuple[Topic, Partition] | Refusal:
    topic = cluster.topics.get(topic_name)
    if topic is None:
        return _no_topic(topic_name)
    partition = topic.partition(partition_index)
    if partition is None:
        message = f"Unable to find partition {topic_name}:{partition_index}."
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    return topic, partition


@lru_cache(maxsize=1)
def _no_topic(topic_name: str) -> Refusal:
    """Return one refusal for all partitions of a topic: its name may be long."""
    message = f"Unable to find a topic named {topic_name}."
    return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
