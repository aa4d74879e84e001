"""The server-side assignor of share groups: every partition has a member, and every member one.

Several members may have the same partition. A member's id decides which partition it shares; what
is left is kept by its last member, or assigned round-robin.

Source: Kafka's `SimpleAssignor`.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from broker.groups.consumer.assignment import Assignment
from broker.share_groups.sessions import TopicIdPartition
from protocol.hash_order import as_java_int, string_hash

NAME = "simple"


def assign_simply(
    subscriptions: Mapping[str, Sequence[TopicIdPartition]], targets: Mapping[str, Assignment]
) -> dict[str, Assignment]:
    """Return the new target of each member.

    Args:
        subscriptions: for each member the partitions of its topics that may be assigned.
        targets: the last target of each member.
    """
    subscribed = {member_id: tuple(parts) for member_id, parts in subscriptions.items()}
    current = _members_by_partition(subscribed, targets)
    if len({frozenset(parts) for parts in subscribed.values()}) == 1:
        assigned = _assign_alike(subscribed, current)
    else:
        assigned = _assign_different(subscribed, current)
    return {member_id: _by_topic(assigned.get(member_id, ())) for member_id in subscribed}


def _assign_alike(
    subscribed: Mapping[str, tuple[TopicIdPartition, ...]],
    current: Mapping[TopicIdPartition, Sequence[str]],
) -> dict[str, set[TopicIdPartition]]:
    """Assign partitions to members that all subscribe to the same topics."""
    partitions = next(iter(subscribed.values()))
    count_per_member = -(-len(partitions) // len(subscribed))
    hashed = {member_id: _hashed(member_id, partitions) for member_id in subscribed}
    taken = {partition for partition in hashed.values() if partition is not None}
    assigned = {
        member_id: {partition} for member_id, partition in hashed.items() if partition is not None
    }
    covered = set(taken)
    for partition, member_ids in current.items():
        if partition in taken or partition not in partitions:
            continue
        for member_id in member_ids:
            own = assigned.setdefault(member_id, set())
            if len(own) < count_per_member:
                own.add(partition)
                covered.add(partition)
    left = [partition for partition in partitions if partition not in covered]
    _deal_out(left, list(subscribed), assigned, count_per_member)
    return assigned


def _deal_out(
    partitions: Sequence[TopicIdPartition],
    member_ids: list[str],
    assigned: dict[str, set[TopicIdPartition]],
    count_per_member: int,
) -> None:
    """Assign partitions in turn to members that have few enough."""
    position = 0
    for partition in partitions:
        while True:
            position %= len(member_ids)
            own = assigned.setdefault(member_ids[position], set())
            if len(own) <= count_per_member:
                own.add(partition)
                position += 1
                break
            del member_ids[position]


def _assign_different(
    subscribed: Mapping[str, tuple[TopicIdPartition, ...]],
    current: Mapping[TopicIdPartition, Sequence[str]],
) -> dict[str, set[TopicIdPartition]]:
    """Assign partitions to members that subscribe to different topics."""
    by_partition: dict[TopicIdPartition, list[str]] = {}
    subscribers: dict[UUID, dict[str, None]] = {}
    for member_id, partitions in subscribed.items():
        hashed = _hashed(member_id, partitions)
        if hashed is not None:
            by_partition.setdefault(hashed, []).append(member_id)
        for partition in partitions:
            subscribers.setdefault(partition.topic_id, {})[member_id] = None
    _assign_in_turn(
        dict.fromkeys(part for partitions in subscribed.values() for part in partitions),
        current,
        subscribers,
        by_partition,
    )
    for partition, owners in current.items():
        if partition not in by_partition:
            known = subscribers.get(partition.topic_id, {})
            by_partition[partition] = [member_id for member_id in owners if member_id in known]
    assigned: dict[str, set[TopicIdPartition]] = {}
    for partition, member_ids in by_partition.items():
        for member_id in member_ids:
            assigned.setdefault(member_id, set()).add(partition)
    return assigned


def _assign_in_turn(
    partitions: Iterable[TopicIdPartition],
    current: Mapping[TopicIdPartition, Sequence[str]],
    subscribers: Mapping[UUID, Mapping[str, None]],
    by_partition: dict[TopicIdPartition, list[str]],
) -> None:
    """Assign the partitions of each topic that nobody has to its subscribers in turn."""
    counts: dict[UUID, int] = {}
    for partition in partitions:
        if partition in by_partition or partition in current:
            continue
        topic_id = partition.topic_id
        member_ids = list(subscribers[topic_id])
        number = counts.get(topic_id, 0)
        by_partition[partition] = [member_ids[number % len(member_ids)]]
        counts[topic_id] = number + 1


def _members_by_partition(
    subscribed: Iterable[str], targets: Mapping[str, Assignment]
) -> dict[TopicIdPartition, list[str]]:
    found: dict[TopicIdPartition, list[str]] = {}
    for member_id in subscribed:
        for topic_id, indexes in targets.get(member_id, {}).items():
            for index in sorted(indexes):
                found.setdefault(TopicIdPartition(topic_id, index), []).append(member_id)
    return found


def _hashed(member_id: str, partitions: Sequence[TopicIdPartition]) -> TopicIdPartition | None:
    """Return the partition that a member gets by the hash of its id."""
    if not partitions:
        return None
    # Java's remainder has the sign of the dividend, and then Kafka takes the absolute value.
    return partitions[abs(as_java_int(string_hash(member_id))) % len(partitions)]


def _by_topic(partitions: Iterable[TopicIdPartition]) -> Assignment:
    found: dict[UUID, set[int]] = {}
    for topic_id, index in sorted(partitions):
        found.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items()}
