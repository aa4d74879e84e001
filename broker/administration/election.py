"""Elect a partition's leader on request (KIP-460).

Sources: Kafka's `ReplicationControlManager.electLeader` and `PartitionChangeBuilder`.
"""

from enum import IntEnum
from functools import lru_cache

from broker.cluster.cluster import Cluster
from broker.cluster.eligible_leaders import clean_leader, last_known_leader
from broker.cluster.topics import NO_LEADER, Partition
from broker.errors import Refusal
from protocol.errors import ErrorCode
from protocol.pacing import may_pause

NOT_NEEDED = Refusal(
    ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
)
NOT_AVAILABLE = Refusal(
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available."
)
NONE_ELIGIBLE = Refusal(
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available."
)


class ElectionType(IntEnum):
    """An election of the preferred leader, or an unclean one."""

    PREFERRED = 0
    UNCLEAN = 1


@may_pause
def elect_leader(
    cluster: Cluster,
    topic_name: str,
    partition_index: int,
    election_type: ElectionType,
    now_ms: int,
) -> Refusal | None:
    """Elect a leader and begin a new leader epoch, or return why nothing changes."""
    topic = cluster.topics.get(topic_name)
    if topic is None:
        return _no_topic(topic_name)
    partition = topic.partition(partition_index)
    if partition is None:
        message = f"No such partition as {topic_name}-{partition_index}"
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    has_leader = partition.leader_id != NO_LEADER
    if election_type is ElectionType.PREFERRED:
        if partition.leader_id == partition.replicas[0]:
            return NOT_NEEDED
        candidates = partition.replicas[:1] if has_leader else partition.replicas
        leader_id = clean_leader(partition, candidates, cluster.is_alive)
        if leader_id == NO_LEADER:
            return NOT_AVAILABLE
    else:
        if has_leader:
            return NOT_NEEDED
        leader_id = clean_leader(partition, partition.replicas, cluster.is_alive)
        if leader_id == NO_LEADER:
            leader_id = _elect_out_of_sync(cluster, partition, now_ms)
        if leader_id == NO_LEADER:
            return NONE_ELIGIBLE
    if leader_id not in partition.isr:
        cluster.set_isr(partition, [leader_id], now_ms)
        cluster.expand_isr(partition, now_ms)
    cluster.set_leader(partition, leader_id, now_ms)
    return None


@may_pause
def _elect_out_of_sync(cluster: Cluster, partition: Partition, now_ms: int) -> int:
    """Return the last known leader, or the first replica that is up.

    All that are up are in sync: they share the log.
    """
    alive = tuple(filter(cluster.is_alive, partition.replicas))
    if not alive:
        return NO_LEADER
    leader_id = last_known_leader(partition, cluster.is_alive)
    cluster.set_isr(partition, alive, now_ms, is_clean=False)
    return alive[0] if leader_id == NO_LEADER else leader_id


@lru_cache(maxsize=1)
def _no_topic(topic_name: str) -> Refusal:
    """Return one refusal for all partitions of a topic: its name may be long."""
    message = f"No such topic as {topic_name}"
    return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
