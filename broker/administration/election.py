"""Elect a partition's leader on request (KIP-460).

Sources: Kafka's `ReplicationControlManager.electLeader` and `PartitionChangeBuilder`.
"""

from enum import IntEnum
from functools import lru_cache

from broker.cluster.cluster import Cluster
from broker.cluster.eligible_leaders import clean_leader, last_known_leader
from broker.cluster.log_truncation import lead_out_of_sync
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
    has_leader, is_clean = partition.leader_id != NO_LEADER, True
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
        is_clean = leader_id != NO_LEADER
        if not is_clean:
            leader_id = _out_of_sync_leader(cluster, partition)
        if leader_id == NO_LEADER:
            return NONE_ELIGIBLE
    is_behind = leader_id not in partition.isr
    if is_behind:
        lead_out_of_sync(cluster, partition, leader_id, now_ms, is_clean=is_clean)
    cluster.set_leader(partition, leader_id, now_ms)
    if is_behind:
        cluster.expand_isr(partition, now_ms)
    return None


def _out_of_sync_leader(cluster: Cluster, partition: Partition) -> int:
    """Return the last known leader, or the first replica that is up."""
    leader_id = last_known_leader(partition, cluster.is_alive)
    if leader_id == NO_LEADER:
        leader_id = next(filter(cluster.is_alive, partition.replicas), NO_LEADER)
    return leader_id


@lru_cache(maxsize=1)
def _no_topic(topic_name: str) -> Refusal:
    """Return one refusal for all partitions of a topic: its name may be long."""
    message = f"No such topic as {topic_name}"
    return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
