"""Dividing the partitions of many topics into pages (KIP-966's DescribeTopicPartitions).

Source: Kafka's `KRaftMetadataCache.describeTopicResponse`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition, Topic

PAGE_PARTITIONS_MAX = 2000
"""How many partitions a page has at most, whatever a client asks for: Kafka's default of
`max.request.partition.size.limit`."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: a topic's name and the first partition of it to tell."""

    topic_name: str
    partition_index: int = 0


@dataclass(frozen=True, slots=True)
class PageEntry:
    """One topic of a page and those of its partitions that are on it; None is a missing topic."""

    name: str
    topic: Topic | None
    partitions: list[Partition]


def names_from(names: Iterable[str], cursor: Cursor | None) -> list[str]:
    """The names that a page from `cursor` on may have, each once, in order."""
    first_name = cursor.topic_name if cursor is not None else ""
    return sorted({name for name in names if name >= first_name})


def read_page(
    cluster: Cluster, names: Collection[str], cursor: Cursor | None, limit: int
) -> tuple[list[PageEntry], Cursor | None]:
    """The topics of sorted `names` until `limit` partitions are told, and where the next begins.

    A limit below 1 counts as 1, one above PAGE_PARTITIONS_MAX as that.
    """
    left = max(1, min(limit, PAGE_PARTITIONS_MAX))
    entries: list[PageEntry] = []
    for name in names:
        if left == 0:
            return entries, Cursor(name)
        topic = cluster.topics.get(name)
        if topic is None:
            entries.append(PageEntry(name, None, []))
            continue
        first = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        partitions = topic.partitions[first : first + left]
        entries.append(PageEntry(name, topic, partitions))
        left -= len(partitions)
        if first + len(partitions) < len(topic.partitions):
            return entries, Cursor(name, first + len(partitions))
    return entries, None
