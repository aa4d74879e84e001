"""The assignor `range`: each member gets a range of the partitions of each topic.

Partitions of topics with the same number of partitions go together, if all members subscribe to
all of them. Racks play no role. Source: Kafka's `RangeAssignor`.
"""

from uuid import UUID  # noqa: TC003 - plain imports show the layers

from broker.groups.consumer.assignment import Assignment
from broker.groups.consumer.group_spec import GroupSpec, MemberSpec


def assign_ranges(group: GroupSpec) -> dict[str, Assignment]:
    """Return the target of each member; `Assignor`."""
    ordered = sorted(group.members.items(), key=_member_order)
    subscriber_counts: dict[UUID, int] = {}
    for _member_id, member in ordered:
        for topic_id in member.topic_ids:
            subscriber_counts[topic_id] = subscriber_counts.get(topic_id, 0) + 1
    positions = dict.fromkeys(subscriber_counts, 0)
    """How many subscribers of each topic have got their range."""
    targets: dict[str, Assignment] = {}
    for member_id, member in ordered:
        target = {}
        for topic_id in member.topic_ids:
            indexes = _range(
                group.partition_counts[topic_id], subscriber_counts[topic_id], positions[topic_id]
            )
            positions[topic_id] += 1
            if indexes:
                target[topic_id] = frozenset(indexes)
        targets[member_id] = target
    return targets


def _range(partition_count: int, subscriber_count: int, position: int) -> range:
    """Return the partitions of the subscriber at a position; the first ones get one more."""
    quota, extra = divmod(partition_count, subscriber_count)
    start = position * quota + min(position, extra)
    return range(start, start + quota + (position < extra))


def _member_order(item: tuple[str, MemberSpec]) -> tuple[bool, str]:
    """Static members first, by instance id, because they keep it; then the others by id."""
    member_id, member = item
    if member.group_instance_id is not None:
        return False, member.group_instance_id
    return True, member_id
