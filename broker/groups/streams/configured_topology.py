"""A topology with the partition counts of its topics, or why the group cannot work with it yet.

Source: Kafka's `InternalTopicManager`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from broker.groups.consumer.topics import TopicSource
from broker.groups.streams.partition_counts import (
    PartitionCounts,
    PartitioningError,
    TopologyError,
    decide_partition_counts,
)
from broker.groups.streams.statuses import Status, StatusCode
from broker.groups.streams.topology import Subtopology, TopicInfo, Topology
from protocol.errors import ErrorCode

TASKS_MAX = 20_000
"""How many tasks a group may have. Kafka has no limit; other requests wait for them."""

_SHOWN_TOPICS_MAX = 3


@dataclass(frozen=True, slots=True)
class ConfiguredTopic:
    """An internal topic as it is or will be; without a replication factor the broker decides."""

    name: str
    partition_count: int
    replication_factor: int | None
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConfiguredSubtopology:
    """A subtopology with the number of its tasks; internal topics by name."""

    task_count: int
    source_topics: frozenset[str]
    repartition_sink_topics: frozenset[str]
    repartition_source_topics: Mapping[str, ConfiguredTopic]
    state_changelog_topics: Mapping[str, ConfiguredTopic]

    @property
    def is_stateful(self) -> bool:
        """Whether its tasks have state, which standby tasks can copy."""
        return bool(self.state_changelog_topics)


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    """The subtopologies by id, in order; None if topics are missing or don't fit together.

    `problem` says why the group cannot work. `missing` are internal topics that do not exist.
    """

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None
    problem: Status | None = None
    missing: Mapping[str, ConfiguredTopic] = field(default_factory=dict)

    @property
    def ready(self) -> Mapping[str, ConfiguredSubtopology] | None:
        """The subtopologies if the group can work, or None."""
        return None if self.problem is not None else self.subtopologies


def configure(topology: Topology, topics: TopicSource) -> ConfiguredTopology:
    """Compute the internal topics of a topology, and compare them with the topics that exist.

    Raises:
        TopologyError: the application has to be changed.
    """
    missing_sources = sorted(
        {
            name
            for subtopology in topology.subtopologies.values()
            for name in subtopology.source_topics
            if topics.get(name) is None
        }
    )
    if missing_sources:
        detail = f"Source topics {_summary(missing_sources)} are missing."
        return _unusable(topology, StatusCode.MISSING_SOURCE_TOPICS, detail)
    try:
        counts = decide_partition_counts(topology, topics)
        subtopologies = {
            subtopology_id: _configured(topology.subtopologies[subtopology_id], counts)
            for subtopology_id in sorted(topology.subtopologies)
        }
        missing = _missing_topics(topology, subtopologies, topics)
    except PartitioningError as error:
        return _unusable(topology, StatusCode.INCORRECTLY_PARTITIONED_TOPICS, str(error))
    if sum(subtopology.task_count for subtopology in subtopologies.values()) > TASKS_MAX:
        raise TopologyError(f"A streams group may have up to {TASKS_MAX} tasks.")
    problem = None
    if missing:
        detail = f"Internal topics are missing: {_summary(sorted(missing))}"
        problem = Status(StatusCode.MISSING_INTERNAL_TOPICS, detail)
    return ConfiguredTopology(topology.epoch, subtopologies, problem, missing)


def _unusable(topology: Topology, code: StatusCode, detail: str) -> ConfiguredTopology:
    return ConfiguredTopology(topology.epoch, None, Status(code, detail))


def _configured(subtopology: Subtopology, counts: PartitionCounts) -> ConfiguredSubtopology:
    return ConfiguredSubtopology(
        task_count=counts.task_count(subtopology),
        source_topics=frozenset(subtopology.source_topics),
        repartition_sink_topics=frozenset(subtopology.repartition_sink_topics),
        repartition_source_topics={
            topic.name: _topic(topic, counts) for topic in subtopology.repartition_source_topics
        },
        state_changelog_topics={
            topic.name: _topic(topic, counts) for topic in subtopology.state_changelog_topics
        },
    )


def _topic(topic: TopicInfo, counts: PartitionCounts) -> ConfiguredTopic:
    partition_count = topic.partition_count or counts.decided[topic.name]
    if partition_count < 1:
        message = "Number of partitions must be at least 1."
        raise TopologyError(message, ErrorCode.UNKNOWN_SERVER_ERROR)
    return ConfiguredTopic(
        topic.name, partition_count, topic.replication_factor or None, dict(topic.configs)
    )


def _missing_topics(
    topology: Topology, subtopologies: Mapping[str, ConfiguredSubtopology], topics: TopicSource
) -> dict[str, ConfiguredTopic]:
    missing: dict[str, ConfiguredTopic] = {}
    for subtopology in subtopologies.values():
        missing |= subtopology.repartition_source_topics
        missing |= subtopology.state_changelog_topics
    for name in sorted(topology.required_topics):
        existing = topics.get(name)
        expected = None if existing is None else missing.pop(name, None)
        if existing is None or expected is None:
            continue
        if existing.partition_count != expected.partition_count:
            raise PartitioningError(
                f"Existing topic {name} has different number of partitions: expected"
                f" {expected.partition_count}, found {existing.partition_count}"
            )
    return missing


def _summary(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN_TOPICS_MAX])
    more = len(names) - _SHOWN_TOPICS_MAX
    return f"{shown} and {more} additional topics" if more > 0 else shown
