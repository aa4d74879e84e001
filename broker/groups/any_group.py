"""What groups of both protocols have in common."""

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.group import Group
from broker.groups.group_records import group_key
from broker.groups.results import GroupState
from protocol.coordinator_records import CoordinatorRecord

AnyGroup = Group | ConsumerGroup
"""A group of either protocol. Both have an id, a type, a state and committed offsets."""


def tombstones_of(group: AnyGroup) -> list[CoordinatorRecord]:
    """Return the records that delete a group, without its offsets."""
    if isinstance(group, ConsumerGroup):
        return group.tombstones()
    return [(group_key(group.group_id), None)]


def is_empty(group: AnyGroup) -> bool:
    """Return whether a group has no members."""
    if isinstance(group, ConsumerGroup):
        return group.is_empty
    return group.state is GroupState.EMPTY


def is_idle(group: AnyGroup) -> bool:
    """Return whether it has no members and nobody is about to join."""
    return is_empty(group) and not (isinstance(group, Group) and group.members.pending)


def hides_topics(group: AnyGroup) -> bool:
    """Return whether it has members that do not say what they subscribe to, as Connect's."""
    return isinstance(group, Group) and not is_empty(group) and not group.is_consumer_group
