"""The topologies of simulated Kafka Streams applications, and their internal topics.

A task is a subtopology id with a partition index.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from protocol import messages
from tests.simulation.history import Place

_Topology = messages.StreamsGroupHeartbeatRequest.Topology
_Subtopology = _Topology.Subtopology


class Part(NamedTuple):
    """One subtopology. Of topics that are copartitioned, all have to be sources of it."""

    sources: tuple[str, ...] = ()
    repartition_sources: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    changelog: str | None = None
    is_copartitioned: bool = False


@dataclass(frozen=True)
class StreamsTopology:
    """The subtopologies by id, and the source topic that gives each internal topic its size."""

    parts: Mapping[str, Part]
    sized_like: Mapping[str, str]

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of all topics that its tasks read."""
        parts = self.parts.values()
        return tuple(name for part in parts for name in (*part.sources, *part.repartition_sources))

    def places(self, tasks: Collection[Place], known: Collection[Place]) -> Iterator[Place]:
        """Yield the partitions that some tasks read, of those that are known."""
        for subtopology_id, index in tasks:
            part = self.parts[subtopology_id]
            for name in (*part.sources, *part.repartition_sources):
                if (name, index) in known:
                    yield name, index

    def tasks(self, sizes: Mapping[str, int], *, with_state: bool = False) -> list[Place]:
        """Return all tasks, or those with state, for numbers of partitions by topic."""
        return [
            (subtopology_id, index)
            for subtopology_id, part in self.parts.items()
            if part.changelog or not with_state
            for index in range(max(sizes[name] for name in part.sources))
        ]

    def message(self) -> Any:
        """Return the topology as a member sends it when it joins."""
        return _Topology(
            epoch=0,
            subtopologies=[_message(name, part) for name, part in self.parts.items()],
        )


def _message(subtopology_id: str, part: Part) -> Any:
    copartitioned = _Subtopology.CopartitionGroup(
        source_topics=list(range(len(part.sources))),
        source_topic_regex=[],
        repartition_source_topics=list(range(len(part.repartition_sources))),
    )
    changelogs = () if part.changelog is None else (part.changelog,)
    return _Subtopology(
        subtopology_id=subtopology_id,
        source_topics=list(part.sources),
        source_topic_regex=[],
        state_changelog_topics=[_topic(name) for name in changelogs],
        repartition_sink_topics=list(part.sinks),
        repartition_source_topics=[_topic(name) for name in part.repartition_sources],
        copartition_groups=[copartitioned] if part.is_copartitioned else [],
    )


def _topic(name: str) -> Any:
    return _Subtopology.TopicInfo(name=name, partitions=0, replication_factor=0, topic_configs=[])


def topologies_of(group: str, first: str, second: str) -> tuple[StreamsTopology, ...]:
    """Return what an application may do with two topics; its internal topics have its name."""
    changelog, repartition = f"{group}-store-changelog", f"{group}-key-repartition"
    join = Part((second,), (repartition,), changelog=changelog, is_copartitioned=True)
    return (
        StreamsTopology({"0": Part((first,))}, {}),
        StreamsTopology({"0": Part((first,), changelog=changelog)}, {changelog: first}),
        StreamsTopology(
            {"0": Part((first,)), "1": Part((second,), changelog=changelog)}, {changelog: second}
        ),
        StreamsTopology(
            {"0": Part((first,), sinks=(repartition,)), "1": join},
            {repartition: second, changelog: second},
        ),
    )
