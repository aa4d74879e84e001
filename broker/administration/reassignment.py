"""Move a partition to other brokers (KIP-455).

All replicas share one log, so there is nothing to copy. A reassignment completes when every broker
that it names is up.

Sources: Kafka's `ReplicationControlManager.alterPartitionReassignment`,
`PartitionReassignmentReplicas` and `PartitionReassignmentRevert`.
"""

from collections.abc import Sequence

from broker.administration.placement import check_replicas
from broker.cluster.cluster import Cluster
from broker.cluster.replicas import complete_reassignment, is_reassigning
from broker.cluster.topics import NO_LEADER, Partition, Topic
from broker.errors import Refusal
from protocol.errors import ErrorCode


def start_reassignment(
    cluster: Cluster,
    topic_name: str,
    partition_index: int,
    replicas: Sequence[int],
    now_ms: int,
    *,
    may_change_replication_factor: bool = True,
) -> Refusal | None:
    """Move a partition to `replicas`, replacing a waiting move; complete it at once if possible."""
    found = _find(cluster, topic_name, partition_index)
    if isinstance(found, Refusal):
        return found
    _, partition = found
    refusal = check_replicas(cluster, replicas)
    if refusal is not None:
        return refusal
    original, target = original_replicas(partition), tuple(replicas)
    if not may_change_replication_factor and len(target) != len(original):
        return Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {len(original)} to {len(target)}",
        )
    if target == partition.replicas and not is_reassigning(partition):
        return None
    partition.adding_replicas = tuple(n for n in target if n not in original)
    partition.removing_replicas = tuple(n for n in original if n not in target)
    partition.replicas = target + partition.removing_replicas
    if not is_reassigning(partition):
        # Only the order changes, or the original replicas return: no broker to wait for.
        cluster.set_replicas(partition, target, now_ms)
    elif not complete_reassignment(cluster, partition, now_ms):
        _remove_added_from_isr(cluster, partition, now_ms)
    return None


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
    original = original_replicas(partition)
    is_clean = any(node_id in original for node_id in partition.isr)
    if not is_clean and not topic.config["unclean.leader.election.enable"]:
        return Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Unable to revert partition assignment for {topic_name}:{partition_index} because "
            "it would require an unclean leader election.",
        )
    cluster.set_replicas(partition, original, now_ms)
    return None


def _remove_added_from_isr(cluster: Cluster, partition: Partition, now_ms: int) -> None:
    """Remove from the ISR the replicas that only the replaced move added."""
    partition.isr = tuple(n for n in partition.isr if n in partition.replicas)
    if partition.leader_id not in partition.isr:
        alive = filter(cluster.is_alive, partition.isr)
        cluster.set_leader(partition, next(alive, NO_LEADER), now_ms)


def original_replicas(partition: Partition) -> tuple[int, ...]:
    """Return the replicas without those that a waiting move adds."""
    return tuple(n for n in partition.replicas if n not in partition.adding_replicas)


def _find(
    cluster: Cluster, topic_name: str, partition_index: int
) -> tuple[Topic, Partition] | Refusal:
    topic = cluster.topics.get(topic_name)
    if topic is None:
        message = f"Unable to find a topic named {topic_name}."
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    partition = topic.partition(partition_index)
    if partition is None:
        message = f"Unable to find partition {topic_name}:{partition_index}."
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    return topic, partition
