"""Committed offsets of one group, by topic and partition."""

from collections.abc import Iterator

from broker.groups.results import CommittedOffset


class OffsetTable:
    """Committed offsets of one group."""

    __slots__ = ("_by_topic",)

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[int, CommittedOffset]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_topic.values()))

    def __iter__(self) -> Iterator[tuple[str, int, CommittedOffset]]:
        """Iterate over topic name, partition index and committed offset."""
        for topic_name, partitions in self._by_topic.items():
            for partition_index, committed in partitions.items():
                yield topic_name, partition_index, committed

    def get(self, topic_name: str, partition_index: int) -> CommittedOffset | None:
        """Return the last committed offset of a partition, or None."""
        partitions = self._by_topic.get(topic_name)
        return None if partitions is None else partitions.get(partition_index)

    def put(self, topic_name: str, partition_index: int, committed: CommittedOffset) -> None:
        """Store the committed offset of a partition."""
        self._by_topic.setdefault(topic_name, {})[partition_index] = committed

    def remove(self, topic_name: str, partition_index: int) -> bool:
        """Delete the committed offset of a partition; return whether there was one."""
        partitions = self._by_topic.get(topic_name)
        if partitions is None:
            return False
        committed = partitions.pop(partition_index, None)
        if not partitions:
            del self._by_topic[topic_name]
        return committed is not None

    def take_topic(self, topic_name: str) -> dict[int, CommittedOffset]:
        """Delete the committed offsets of a topic, and return them by partition index."""
        return self._by_topic.pop(topic_name, {})

    def take_all(self) -> dict[str, dict[int, CommittedOffset]]:
        """Delete all committed offsets, and return them by topic name and partition index."""
        taken, self._by_topic = self._by_topic, {}
        return taken
