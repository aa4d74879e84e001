"""The topology that the first member of a group sends: subtopologies with their topics.

Source: Kafka's `StreamsTopology`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """An internal topic; with 0 partitions or replicas the broker decides.

    `configs` are pairs of key and value, in the order of the request.
    """

    name: str
    partition_count: int = 0
    replication_factor: int = 0
    configs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CopartitionGroup:
    """Topics that need as many partitions as each other, by their index in the subtopology."""

    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of the topology that is connected to others by topics only."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()

    @property
    def sources(self) -> Iterator[str]:
        """The names of all topics that it reads."""
        yield from self.source_topics
        for topic in self.repartition_source_topics:
            yield topic.name

    @property
    def internal_topics(self) -> tuple[TopicInfo, ...]:
        """The topics that the coordinator creates for it."""
        return self.repartition_source_topics + self.state_changelog_topics


@dataclass(frozen=True)
class Topology:
    """The subtopologies by id; a changed application has a higher epoch."""

    epoch: int
    subtopologies: Mapping[str, Subtopology]

    @cached_property
    def subtopology_of(self) -> Mapping[str, str]:
        """The id of the subtopology that reads a topic, by the name of the topic."""
        return {
            topic_name: subtopology_id
            for subtopology_id, subtopology in self.subtopologies.items()
            for topic_name in subtopology.sources
        }

    @cached_property
    def required_topics(self) -> frozenset[str]:
        """The names of all topics that it reads, and of its changelogs."""
        changelogs = (
            topic.name
            for subtopology in self.subtopologies.values()
            for topic in subtopology.state_changelog_topics
        )
        return frozenset(self.subtopology_of) | frozenset(changelogs)


def named_topics(subtopologies: Iterable[Subtopology]) -> list[str]:
    """Return the names of the topics of subtopologies in their order, each one once."""
    names: dict[str, None] = {}
    for subtopology in subtopologies:
        names |= dict.fromkeys(subtopology.source_topics)
        names |= dict.fromkeys(subtopology.repartition_sink_topics)
        names |= dict.fromkeys(topic.name for topic in subtopology.internal_topics)
    return list(names)
