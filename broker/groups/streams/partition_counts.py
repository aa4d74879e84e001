"""How many partitions the internal topics of a topology need.

A repartition topic has the number that the application gives, or the largest one of what its
writers read. Topics of a copartition group have the same number. A changelog has one partition for
each task.

Sources: Kafka's `RepartitionTopics`, `CopartitionedTopicsEnforcer` and `ChangelogTopics`.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush

from broker.groups.consumer.topics import TopicSource
from broker.groups.streams.topology import Subtopology, Topology
from protocol.errors import ErrorCode


class TopologyError(Exception):
    """A topology that the group cannot have; the heartbeat gets `error_code`."""

    def __init__(
        self, message: str, error_code: ErrorCode = ErrorCode.STREAMS_INVALID_TOPOLOGY
    ) -> None:
        super().__init__(message)
        self.error_code = error_code


class PartitioningError(Exception):
    """Topics whose numbers of partitions don't fit together; a status of the group says so."""


class PartitionCounts:
    """The partition counts of all topics: of existing ones as they are, else as decided."""

    def __init__(self, topics: TopicSource) -> None:
        self._topics = topics
        self.decided: dict[str, int] = {}

    def get(self, topic_name: str) -> int | None:
        """Return the number of partitions of a topic, or None if it is not known."""
        topic = self._topics.get(topic_name)
        return self.decided.get(topic_name) if topic is None else topic.partition_count

    def of(self, topic_name: str) -> int:
        """Return the number of partitions of a topic that a source of the topology is.

        Raises:
            TopologyError: it is not known. Kafka takes this for a bug in the coordinator.
        """
        count = self.get(topic_name)
        if count is None:
            message = f"Number of partitions is not set for topic: {topic_name}"
            raise TopologyError(message, ErrorCode.UNKNOWN_SERVER_ERROR)
        return count

    def task_count(self, subtopology: Subtopology) -> int:
        """Return the number of tasks of a subtopology."""
        return max(map(self.of, subtopology.sources), default=0)


def decide_partition_counts(topology: Topology, topics: TopicSource) -> PartitionCounts:
    """Return the numbers of partitions of a topology whose source topics exist.

    Raises:
        TopologyError: they cannot be computed.
        PartitioningError: topics that must have the same number have not.
    """
    counts = PartitionCounts(topics)
    subtopologies = topology.subtopologies.values()
    counts.decided |= _repartition_counts(subtopologies, counts)
    repartition = [t for s in subtopologies for t in s.repartition_source_topics]
    flexible = {topic.name for topic in repartition if not topic.partition_count}
    fixed = {topic.name: counts.of(topic.name) for topic in repartition if topic.partition_count}
    fixed_counts = set(fixed.values())
    for subtopology in subtopologies:
        for names in _copartitioned(subtopology):
            counts.decided |= _enforced(names, fixed, fixed_counts, flexible, counts)
    for subtopology in subtopologies:
        if not any(True for _ in subtopology.sources):
            raise TopologyError(
                f"No source topics found for subtopology {subtopology.subtopology_id}"
            )
        task_count = counts.task_count(subtopology)
        for topic in subtopology.state_changelog_topics:
            counts.decided[topic.name] = task_count
    return counts


def _repartition_counts(
    subtopologies: Iterable[Subtopology], counts: PartitionCounts
) -> dict[str, int]:
    found = {
        topic.name: topic.partition_count
        for subtopology in subtopologies
        for topic in subtopology.repartition_source_topics
        if topic.partition_count
    }
    if not _decide_sinks(list(subtopologies), found, counts):
        raise TopologyError(
            "Failed to compute number of partitions for all repartition topics. There may be"
            " loops in the topology that cannot be resolved."
        )
    for subtopology in subtopologies:
        if any(topic.name not in found for topic in subtopology.repartition_source_topics):
            raise TopologyError(
                "Failed to compute number of partitions for all repartition topics, because a"
                " repartition source topic is never used as a sink topic."
            )
    return found


def _decide_sinks(
    subtopologies: Sequence[Subtopology], found: dict[str, int], counts: PartitionCounts
) -> bool:
    """Decide the partition counts of all topics that are written; return whether it succeeds.

    As in Kafka, rounds go through the subtopologies in order, and one that reads nothing with a
    known count waits for the next round. Only those are looked at again that may be decided now.
    """
    readers: dict[str, list[int]] = {}
    for number, subtopology in enumerate(subtopologies):
        for topic in subtopology.repartition_source_topics:
            readers.setdefault(topic.name, []).append(number)
    waiting = {
        number
        for number, subtopology in enumerate(subtopologies)
        if subtopology.repartition_sink_topics
    }
    of_round = sorted(waiting)
    while of_round:
        of_next: set[int] = set()
        while of_round:
            number = heappop(of_round)
            if number not in waiting:
                continue
            sinks = [s for s in subtopologies[number].repartition_sink_topics if s not in found]
            count = _largest_source(subtopologies[number], found, counts)
            if sinks and count is None:
                continue
            waiting.discard(number)
            for name in sinks:
                assert count is not None
                found.setdefault(name, count)
                for reader in readers.get(name, ()):
                    if reader > number:
                        heappush(of_round, reader)
                    else:
                        of_next.add(reader)
        of_round = sorted(of_next)
    return not waiting


def _largest_source(
    subtopology: Subtopology, found: Mapping[str, int], counts: PartitionCounts
) -> int | None:
    known = [found.get(topic.name) for topic in subtopology.repartition_source_topics]
    known += map(counts.get, subtopology.source_topics)
    return max((count for count in known if count is not None), default=None)


def _copartitioned(subtopology: Subtopology) -> list[frozenset[str]]:
    repartition = subtopology.repartition_source_topics
    try:
        return [
            frozenset(
                [subtopology.source_topics[_checked(index)] for index in group.source_topics]
                + [repartition[_checked(index)].name for index in group.repartition_source_topics]
            )
            for group in subtopology.copartition_groups
        ]
    except IndexError as error:
        message = "A copartition group has an index without a topic."
        raise TopologyError(message, ErrorCode.UNKNOWN_SERVER_ERROR) from error


def _checked(index: int) -> int:
    if index < 0:
        raise IndexError(index)
    return index


def _enforced(
    names: frozenset[str],
    fixed: Mapping[str, int],
    fixed_counts: set[int],
    flexible: set[str],
    counts: PartitionCounts,
) -> dict[str, int]:
    """Return the number of partitions of the repartition topics of a copartition group."""
    if not names:
        return {}
    repartition = {name: counts.of(name) for name in names if name in fixed or name in flexible}
    others = {name: counts.of(name) for name in names if name not in repartition}
    if others:
        count = _same(set(others.values()), others)
    elif fixed:
        count = _same(fixed_counts, repartition)
    else:
        count = max(repartition.values())
    for name, found in repartition.items():
        if name in fixed and found != count:
            raise PartitioningError(
                f"Number of partitions [{found}] of repartition topic [{name}] doesn't match"
                f" number of partitions [{count}] of the source topic."
            )
    return dict.fromkeys(repartition, count)


def _same(found: set[int], shown: Mapping[str, int]) -> int:
    if len(found) > 1:
        text = ", ".join(f"{name}={shown[name]}" for name in sorted(shown))
        raise PartitioningError(
            f"Following topics do not have the same number of partitions: [{{{text}}}]"
        )
    return next(iter(found))
