"""Reassignments end in our broker when the real cluster has ended them.

Kafka copies the records of a partition before a reassignment ends (KIP-455). All of our replicas
share one log, so ours would be over at once, and its leader another one.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.replicas import is_reassigning
from broker.cluster.topics import Partition
from protocol.errors import ErrorCode
from protocol.pacing import may_pause
from proxy.diff.field_comparison import FieldDifference

REASSIGNING = "new replicas of a partition that is reassigned get in sync in their own time"
_OUTCOMES = frozenset(
    {ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.NONE, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
)
"""What an election of the preferred leader may come to, before it is in sync and after."""


def hold_reassignments(cluster: Cluster) -> None:
    """Have no reassignment of ours end by itself."""
    cluster.quotas.replication.is_held = True


@may_pause
def adopt_reassignments(cluster: Cluster, request: Any, response: Any, now_ms: int) -> None:
    """End the reassignments that a response to ListPartitionReassignments lacks.

    Begin those that our broker does not know: other clients have begun them.
    """
    if response.error_code:
        return
    listed = {
        (topic.name, part.partition_index): part
        for topic in response.topics
        for part in topic.partitions
    }
    for partition in _requested(cluster, request):
        found = listed.get((partition.topic_name, partition.partition_index))
        if found is None and is_reassigning(partition):
            removing = partition.removing_replicas
            target = [node_id for node_id in partition.replicas if node_id not in removing]
            cluster.set_replicas(partition, target, now_ms)
        elif found is not None and not is_reassigning(partition):
            partition.adding_replicas = tuple(found.adding_replicas)
            partition.removing_replicas = tuple(found.removing_replicas)
            cluster.assign(partition, tuple(found.replicas), now_ms)


@may_pause
def adopt_reassigned(
    cluster: Cluster, partition: Partition, replicas: Sequence[int], isr: Sequence[int], now_ms: int
) -> None:
    """End a reassignment if the replicas and the ISR of the real cluster show that it has ended.

    A broker may show the replicas of before for a moment.
    """
    adding, current = partition.adding_replicas, partition.replicas
    is_copying = partition.removing_replicas or not {*adding} <= {*isr}
    if {*replicas} == {*current} - {*adding} or (tuple(replicas) == current and is_copying):
        return
    cluster.set_replicas(partition, replicas, now_ms)


def allowed_in_election(cluster: Cluster, difference: FieldDifference) -> str | None:
    """Return why ElectLeaders may answer otherwise for a partition that is reassigned, or None."""
    place, _, field = difference.place.rpartition(".")
    if difference.api != "ElectLeaders" or place not in _elected_places(cluster):
        return None
    if field == "error_message" or {difference.kafka, difference.ours} <= _OUTCOMES:
        return REASSIGNING
    return None


def _elected_places(cluster: Cluster) -> set[str]:
    """Return where a response to ElectLeaders has the partitions that are reassigned."""
    return {
        f"replica_election_results[{topic.name}].partition_result[{partition.partition_index}]"
        for topic in cluster.topics.all()
        for partition in topic.partitions
        if is_reassigning(partition)
    }


def _requested(cluster: Cluster, request: Any) -> Iterator[Partition]:
    """Yield the partitions that a request to ListPartitionReassignments names: null means all."""
    if request.topics is None:
        for topic in cluster.topics.all():
            yield from topic.partitions
        return
    for requested in request.topics:
        found = cluster.topics.get(requested.name)
        for index in requested.partition_indexes:
            partition = None if found is None else found.partition(index)
            if partition is not None:
                yield partition
