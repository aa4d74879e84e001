"""The topology of a group as StreamsGroupDescribe shows it."""

from collections.abc import Iterable
from typing import NamedTuple

from broker.groups.streams.configured_topology import ConfiguredSubtopology, ConfiguredTopic
from broker.groups.streams.group import StreamsGroup
from broker.groups.streams.topology import Subtopology, TopicInfo


class TopicView(NamedTuple):
    """An internal topic; 0 partitions or replicas are not decided yet."""

    name: str
    partition_count: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...]


class SubtopologyView(NamedTuple):
    """A subtopology with its topics in the order of their names."""

    subtopology_id: str
    source_topics: list[str]
    repartition_sink_topics: list[str]
    state_changelog_topics: list[TopicView]
    repartition_source_topics: list[TopicView]


def topology_view(group: StreamsGroup) -> tuple[int, list[SubtopologyView]]:
    """Return the epoch of the topology and its subtopologies, ordered by their ids.

    Their topics have partition counts as soon as the group can work.
    """
    topology = group.topology
    assert topology is not None, "a group has a topology from its first heartbeat on"
    ready = None if group.configured is None else group.configured.ready
    if ready is not None:
        return topology.epoch, [_configured(name, found) for name, found in ready.items()]
    return topology.epoch, [_sent(found) for _, found in sorted(topology.subtopologies.items())]


def _configured(subtopology_id: str, subtopology: ConfiguredSubtopology) -> SubtopologyView:
    return SubtopologyView(
        subtopology_id,
        sorted(subtopology.source_topics),
        sorted(subtopology.repartition_sink_topics),
        _configured_topics(subtopology.state_changelog_topics.values()),
        _configured_topics(subtopology.repartition_source_topics.values()),
    )


def _configured_topics(topics: Iterable[ConfiguredTopic]) -> list[TopicView]:
    return sorted(
        TopicView(
            topic.name,
            topic.partition_count,
            topic.replication_factor or 0,
            tuple(topic.configs.items()),
        )
        for topic in topics
    )


def _sent(subtopology: Subtopology) -> SubtopologyView:
    return SubtopologyView(
        subtopology.subtopology_id,
        sorted(subtopology.source_topics),
        sorted(subtopology.repartition_sink_topics),
        _sent_topics(subtopology.state_changelog_topics),
        _sent_topics(subtopology.repartition_source_topics),
    )


def _sent_topics(topics: Iterable[TopicInfo]) -> list[TopicView]:
    return sorted(
        TopicView(topic.name, topic.partition_count, topic.replication_factor, topic.configs)
        for topic in topics
    )
