"""What groups of all protocols have in common that commit offsets."""

from typing import TYPE_CHECKING

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.group import Group
from broker.groups.group_records import group_key
from broker.groups.results import GroupState
from protocol.coordinator_records import CoordinatorRecord

if TYPE_CHECKING:  # most brokers never have such a group
    from broker.groups.streams.group import StreamsGroup

    AnyGroup = Group | ConsumerGroup | StreamsGroup
    """A group of any of the protocols. All have an id, a type, a state and committed offsets."""
else:
    AnyGroup = Group | ConsumerGroup


def tombstones_of(group: AnyGroup) -> list[CoordinatorRecord]:
    """Return the records that delete a group, without its offsets."""
    if isinstance(group, Group):
        return [(group_key(group.group_id), None)]
    return group.tombstones()


def is_empty(group: AnyGroup) -> bool:
    """Return whether a group has no members."""
    if isinstance(group, Group):
        return group.state is GroupState.EMPTY
    return group.is_empty


def is_idle(group: AnyGroup) -> bool:
    """Return whether it has no members and nobody is about to join."""
    return is_empty(group) and not (isinstance(group, Group) and group.members.pending)


def hides_topics(group: AnyGroup) -> bool:
    """Return whether it has members that do not say what they subscribe to, as Connect's."""
    return isinstance(group, Group) and not is_empty(group) and not group.is_consumer_group
