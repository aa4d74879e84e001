"""Which replica a consumer should read: the nearest one (KIP-392).

Sources: Kafka's `ReplicaManager.findPreferredReadReplica` and `RackAwareReplicaSelector`.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition

LEADER = -1
"""The client reads from the leader; a response has no preferred replica."""


def preferred_read_replica(
    cluster: Cluster, partition: Partition, rack_id: str, fetch_offset: int
) -> int:
    """Return the in-sync follower in the client's rack, or LEADER if there is none.

    It is LEADER, too, if the leader is in that rack. Of several followers it is the one with the
    largest node id, since all of them have the whole log.
    """
    leader = cluster.brokers.get(partition.leader_id)
    if leader is not None and leader.rack == rack_id:
        return LEADER
    log = partition.log
    if not log.log_start_offset <= fetch_offset <= log.log_end_offset:
        return LEADER
    brokers = (cluster.brokers.get(n) for n in partition.isr if n != partition.leader_id)
    return max(
        (
            broker.node_id
            for broker in brokers
            if broker and broker.is_alive and broker.rack == rack_id
        ),
        default=LEADER,
    )
