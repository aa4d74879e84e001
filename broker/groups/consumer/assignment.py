"""Partitions of topics, as members own them and as assignors give them."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar
from uuid import UUID

Assignment = Mapping[UUID, frozenset[int]]
"""Partition indexes by topic id, without empty sets. Never changed in place."""

TopicPartition = tuple[UUID, int]
"""Topic id and partition index."""

PartitionEpochs = Mapping[UUID, Mapping[int, int]]
"""The epoch in which a member got a partition, by topic id and partition index."""

NO_PARTITIONS: Assignment = MappingProxyType({})
NO_PARTITION_EPOCHS: PartitionEpochs = MappingProxyType({})

_Key = TypeVar("_Key")


def no_partitions() -> Assignment:
    """Return `NO_PARTITIONS`, as the default of a field."""
    return NO_PARTITIONS


def no_partition_epochs() -> PartitionEpochs:
    """Return `NO_PARTITION_EPOCHS`, as the default of a field."""
    return NO_PARTITION_EPOCHS


def with_epoch(assignment: Assignment, epoch: int) -> PartitionEpochs:
    """Return one epoch for all partitions."""
    return {topic_id: dict.fromkeys(indexes, epoch) for topic_id, indexes in assignment.items()}


def assignment_of(partitions: Iterable[tuple[UUID, Iterable[int]]]) -> Assignment:
    """Return the assignment with these topics; a topic that occurs twice has both lists."""
    merged = merged_topics(partitions)
    return {topic_id: indexes for topic_id, indexes in merged.items() if indexes}


def merged_topics(partitions: Iterable[tuple[UUID, Iterable[int]]]) -> Assignment:
    """Return what a request names, with topics of which it names no partition."""
    merged: dict[UUID, frozenset[int]] = {}
    for topic_id, indexes in partitions:
        merged[topic_id] = merged.get(topic_id, frozenset()) | frozenset(indexes)
    return merged


def partitions_of(assignment: Assignment) -> Iterator[TopicPartition]:
    """Yield topic id and partition index of every partition."""
    for topic_id, indexes in assignment.items():
        for index in indexes:
            yield topic_id, index


def partition_count(assignment: Assignment) -> int:
    """Return the number of partitions."""
    return sum(map(len, assignment.values()))


def is_subset(
    owned: Mapping[_Key, frozenset[int]], assignment: Mapping[_Key, frozenset[int]]
) -> bool:
    """Return whether every owned partition is in an assignment, of topics or of subtopologies.

    So must be each topic that is named without a partition (Kafka's `isSubset`).
    """
    return all(key in assignment and indexes <= assignment[key] for key, indexes in owned.items())


def overlaps(one: Mapping[_Key, frozenset[int]], other: Mapping[_Key, frozenset[int]]) -> bool:
    """Return whether two assignments have a partition in common, of topics or of subtopologies."""
    return any(not indexes.isdisjoint(other.get(key, frozenset())) for key, indexes in one.items())
