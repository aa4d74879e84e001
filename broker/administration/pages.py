"""Divide the partitions of topics into pages (KIP-966's DescribeTopicPartitions).

Source: Kafka's `KRaftMetadataCache.describeTopicResponse`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition, Topic
from protocol.pacing import may_pause, paced


@dataclass(frozen=True, slots=True)
class Cursor:
    """Start of a page: a topic's name and the index of its first partition in the page."""

    topic_name: str
    partition_index: int = 0


@dataclass(frozen=True, slots=True)
class PageEntry:
    """One topic of a page with its partitions in the page; None for a missing topic."""

    name: str
    topic: Topic | None
    partitions: list[Partition]


@may_pause
def names_from(names: Iterable[str], cursor: Cursor | None) -> list[str]:
    """Return the sorted, distinct names that a page from `cursor` on may have."""
    first_name = cursor.topic_name if cursor is not None else ""
    return sorted({name for name in paced(names) if name >= first_name})


@may_pause
def read_page(
    cluster: Cluster, names: Collection[str], cursor: Cursor | None, limit: int
) -> tuple[list[PageEntry], Cursor | None]:
    """Return the topics of sorted `names` up to `limit` partitions, and the next cursor.

    A limit below 1 counts as 1, one above `max.request.partition.size.limit` as that.
    """
    left = max(1, min(limit, cluster.config["max.request.partition.size.limit"]))
    entries: list[PageEntry] = []
    for name in paced(names):
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
