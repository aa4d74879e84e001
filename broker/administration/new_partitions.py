"""Check a request for more partitions of a topic, and place them.

Source: Kafka's `ReplicationControlManager.createPartitions`.
"""

from collections.abc import Iterable, Sequence

from broker.administration.placement import (
    PARTITIONS_MAX,
    Assignments,
    check_new_replicas,
    place_more,
)
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.errors import Refusal
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced_stream
from protocol.releases import Release

BOUNDS_REQUESTS_SINCE: Release = (4, 4)
"""First release that bounds the new partitions of all topics of a request together."""


@may_pause
def check_total(cluster: Cluster, counts: Iterable[tuple[str, int]]) -> Refusal | None:
    """Refuse a request that would add more partitions than the limit of a request.

    `counts` are the names of the topics with the partitions that each one shall have.
    """
    added_count = 0
    for name, count in paced_stream(counts):
        topic = cluster.topics.get(name)
        if topic is not None:
            added_count += max(0, count - len(topic.partitions))
    if added_count > PARTITIONS_MAX:
        message = "Excessively large number of additional partitions per request."
        return Refusal(ErrorCode.POLICY_VIOLATION, message)
    return None


def check_new_partitions(
    cluster: Cluster,
    topic: Topic,
    partition_count: int,
    assignments: Sequence[tuple[int, ...]] | None,
) -> Assignments | Refusal:
    """Return the replicas of the partitions to add up to `partition_count`; change nothing.

    `assignments` are the client's own choice, one per added partition, or None.
    """
    present_count = len(topic.partitions)
    if partition_count == present_count:
        message = f"Topic already has {present_count} partition(s)."
        return Refusal(ErrorCode.INVALID_PARTITIONS, message)
    if partition_count < present_count:
        return Refusal(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {present_count} partition(s); "
            f"{partition_count} would not be an increase.",
        )
    added_count = partition_count - present_count
    if assignments is not None and len(assignments) != added_count:
        return Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {added_count} additional partition(s), but only "
            f"{len(assignments)} assignment(s) were specified.",
        )
    if added_count > PARTITIONS_MAX:
        # Before 4.4 Kafka's controller fails, because one batch cannot hold so many records.
        return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)
    if assignments is None:
        return place_more(cluster, topic, added_count)
    replication_factor = len(topic.partitions[0].replicas)
    for partition_index, replicas in enumerate(assignments, present_count):
        refusal = check_new_replicas(cluster, replicas, partition_index, replication_factor)
        if refusal is not None:
            return refusal
    return list(assignments)
