"""What an assignor is given, and its type.

Source: Kafka's `GroupSpec` and `SubscribedTopicDescriber`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from broker.groups.consumer.assignment import Assignment, no_partitions


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A member: existing topics that it subscribes to, in a stable order, and its last target."""

    topic_ids: Sequence[UUID]
    target: Assignment = field(default_factory=no_partitions)
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """Members by id, and the number of partitions of every topic that one subscribes to.

    `is_homogeneous`: all members subscribe to the same topics.
    """

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[UUID, int]
    is_homogeneous: bool


Assignor = Callable[[GroupSpec], dict[str, Assignment]]
"""Returns the target of each member; a member that is missing has none."""


def topic_order(topic_id: UUID) -> tuple[int, int]:
    """Return the sort key of Kafka's `Uuid`, which compares two signed numbers."""
    high, low = topic_id.int >> 64, topic_id.int & (1 << 64) - 1
    return _signed(high), _signed(low)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
