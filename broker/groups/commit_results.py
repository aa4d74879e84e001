"""The topics of an offset commit, and the order of its response.

The response names first what the group's coordinator is not asked for: unknown topics and
partitions. The offsets that it stores or refuses follow. A topic with both is there once.

Sources: Kafka's `KafkaApis.handleOffsetCommitRequest` and `OffsetCommitResponse.Builder`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

PartitionErrors: TypeAlias = list[tuple[int, ErrorCode]]
"""Partition indexes, each with its error code."""


class Partitioned(Protocol):
    """A topic that knows which partitions it has."""

    def partition(self, index: int) -> object | None:
        """Return a partition, or None if there is none of this index."""


Key = TypeVar("Key")
Topic = TypeVar("Topic", bound=Partitioned)


class KnownTopic(NamedTuple, Generic[Key, Topic]):
    """A topic of a request, and those of its partitions that exist."""

    key: Key
    topic: Topic
    partitions: list[Any]


class SplitCommit(NamedTuple, Generic[Key, Topic]):
    """`known` is for the coordinator; `missing` does not exist."""

    known: list[KnownTopic[Key, Topic]]
    missing: dict[Key, PartitionErrors]


@may_pause
def split_commit(
    requested: Iterable[tuple[Key, Topic | None, Sequence[Any]]],
    unknown_topic_error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
) -> SplitCommit[Key, Topic]:
    """Return which partitions of a request exist; a topic without any is in neither list.

    `requested` has the name or id of each topic, the topic itself, and the partitions of the
    request.
    """
    known: list[KnownTopic[Key, Topic]] = []
    missing: dict[Key, PartitionErrors] = {}
    for key, topic, partitions in paced(requested):
        if topic is None:
            errors = missing.setdefault(key, [])
            errors += [(partition.partition_index, unknown_topic_error) for partition in partitions]
            continue
        existing = []
        for partition in paced(partitions):
            if topic.partition(partition.partition_index) is not None:
                existing.append(partition)
            else:
                error = (partition.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                missing.setdefault(key, []).append(error)
        if existing:
            known.append(KnownTopic(key, topic, existing))
    return SplitCommit(known, missing)


@may_pause
def response_topics(
    split: SplitCommit[Key, Topic], error_codes: Iterable[ErrorCode]
) -> list[tuple[Key, PartitionErrors]]:
    """Return the topics of the response; `error_codes` has one for each partition of `known`."""
    remaining = iter(error_codes)
    answered = [
        (
            known.key,
            [(partition.partition_index, next(remaining)) for partition in paced(known.partitions)],
        )
        for known in paced(split.known)
    ]
    if not split.missing:
        return answered
    merged = dict(split.missing)
    for key, errors in paced(answered):
        merged[key] = [*merged.get(key, ()), *errors]
    return list(merged.items())
