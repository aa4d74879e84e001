"""Followers that do not fetch from their leader although their brokers are up.

In Kafka such a replica leaves the ISR after `replica.lag.time.max.ms`. Here it leaves
at once, so that no batch with acks=all has to wait for it.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.topics import NO_LEADER, Partition
from protocol.pacing import may_pause


@may_pause
def pause_follower(cluster: Cluster, partition: Partition, node_id: int, now_ms: int) -> None:
    """Have a replica fetch nothing more: it leaves the ISR, and its log ends where it is.

    If it is elected leader, it leads, and is paused again when it follows another one.

    Raises:
        ValueError: it is no replica of the partition, or it leads.
    """
    if node_id not in partition.replicas:
        raise ValueError(f"broker {node_id} has no replica of {_name(partition)}")
    if node_id == partition.leader_id:
        raise ValueError(f"broker {node_id} leads {_name(partition)}, it follows nobody")
    partition.paused_followers |= {node_id}
    if node_id in partition.isr:
        cluster.set_isr(partition, [n for n in partition.isr if n != node_id], now_ms)


@may_pause
def resume_follower(cluster: Cluster, partition: Partition, node_id: int, now_ms: int) -> None:
    """Have a replica fetch from the leader again: it catches up at once and is in sync."""
    partition.paused_followers -= {node_id}
    if partition.leader_id != NO_LEADER:
        cluster.expand_isr(partition, now_ms)


def _name(partition: Partition) -> str:
    return f"{partition.topic_name}-{partition.partition_index}"
