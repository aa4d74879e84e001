"""What groups know about topics: name, id, number of partitions, racks; and the hash of it.

The hash of the subscribed topics is in the group's record. A group whose hash changes gets a new
epoch. Source: `computeTopicHash` and `computeGroupHash` of Kafka's `coordinator.group.Utils`.
"""

from collections.abc import Iterable, Sequence
from struct import pack
from typing import NamedTuple, Protocol
from uuid import UUID

_HASH_VERSION = 0


class TopicMetadata(NamedTuple):
    """A topic; `metadata_hash` is that of `topic_hash`."""

    name: str
    topic_id: UUID
    partition_count: int
    metadata_hash: int


class TopicSource(Protocol):
    """The topics of the cluster."""

    @property
    def created_count(self) -> int:
        """How many topics have been created so far."""
        ...

    def get(self, name: str) -> TopicMetadata | None:
        """Return the topic with this name, or None."""
        ...

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the name of a topic id, or None if there is no such topic."""
        ...

    def names(self) -> Iterable[str]:
        """Return the names of all topics."""
        ...

    def forget(self, name: str) -> None:
        """Look a topic up again when it is needed, because it has changed."""
        ...


class NoTopics:
    """A cluster without topics."""

    created_count = 0

    def get(self, _name: str) -> TopicMetadata | None:
        """Return None."""
        return None

    def name_of(self, _topic_id: UUID) -> str | None:
        """Return None."""
        return None

    def names(self) -> Iterable[str]:
        """Return nothing."""
        return ()

    def forget(self, _name: str) -> None:
        """Do nothing."""


NO_TOPICS = NoTopics()


def group_hash(topics: Iterable[TopicMetadata]) -> int:
    """Return the hash of the topics that a group subscribes to, a signed 64-bit number."""
    ordered = sorted(topics)
    if not ordered:
        return 0
    return _xxh3(b"".join(pack("<q", topic.metadata_hash) for topic in ordered))


def topic_hash(name: str, topic_id: UUID, racks: Sequence[Sequence[str]]) -> int:
    """Return the hash of a topic, a signed 64-bit number.

    `racks` has the racks of the replicas of each partition, without brokers that have none.
    """
    high, low = topic_id.int >> 64, topic_id.int & (1 << 64) - 1
    parts = [pack("<bQQ", _HASH_VERSION, high, low), _text(name), pack("<i", len(racks))]
    for index, racks_of_partition in enumerate(racks):
        parts.append(pack("<i", index))
        for rack in sorted(racks_of_partition):
            parts += [pack("<i", _java_length(rack)), _text(rack)]
    return _xxh3(b"".join(parts))


def _text(text: str) -> bytes:
    """Return what hash4j's `putString` adds: the characters of Java, then their number."""
    return text.encode("utf-16-le") + pack("<i", _java_length(text))


def _java_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _xxh3(data: bytes) -> int:
    from xxhash import xxh3_64_intdigest  # noqa: PLC0415 - not needed before the first such group

    digest: int = xxh3_64_intdigest(data)
    return digest - (1 << 64) if digest >> 63 else digest
