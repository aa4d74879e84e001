"""Check a request for more partitions of a topic, and place them.

Source: Kafka's `ReplicationControlManager.createPartitions`.
"""

from collections.abc import Sequence

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
        # Kafka's controller cannot hold so many records in one batch, and reports a server error.
        return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)
    if assignments is None:
        return place_more(cluster, topic, added_count)
    replication_factor = len(topic.partitions[0].replicas)
    for partition_index, replicas in enumerate(assignments, present_count):
        refusal = check_new_replicas(cluster, replicas, partition_index, replication_factor)
        if refusal is not None:
            return refusal
    return list(assignments)
