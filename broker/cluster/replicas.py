"""Waiting reassignments of a partition, and when they end (KIP-455).

Source: Kafka's `PartitionReassignmentReplicas.maybeCompleteReassignment`.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition
from protocol.pacing import may_pause


def is_reassigning(partition: Partition) -> bool:
    """Whether a reassignment waits for a broker."""
    return bool(partition.adding_replicas or partition.removing_replicas)


@may_pause
def complete_reassignment(cluster: Cluster, partition: Partition, now_ms: int) -> bool:
    """Complete a move if all its target brokers are up; call it when a broker comes up.

    Return whether a move was completed.
    """
    if not is_reassigning(partition):
        return False
    removing = partition.removing_replicas
    target = [node_id for node_id in partition.replicas if node_id not in removing]
    if not all(map(cluster.is_alive, target)):
        return False
    cluster.set_replicas(partition, target, now_ms)
    return True
