"""The assignor `uniform` for groups whose members subscribe to different topics.

It keeps the last target, gives free partitions to the members with the fewest, and then moves
partitions topic by topic until no move makes the numbers more equal.
Source: Kafka's `UniformHeterogeneousAssignmentBuilder`.
"""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush, heapreplace
from uuid import UUID

from broker.groups.consumer.assignment import Assignment
from broker.groups.consumer.group_spec import GroupSpec, topic_order

ROUNDS_MAX = 16
"""Passes over all topics; moves for one topic can make another topic unequal again."""


def assign_heterogeneous(group: GroupSpec) -> dict[str, Assignment]:
    """Return the target of each member; `Assignor`."""
    balancer = _Balancer(group)
    if not balancer.subscribers:
        return {}
    balancer.assign_free_partitions()
    balancer.balance()
    return balancer.targets()


class _Balancer:
    """The owner of every partition, and the number of partitions of every member."""

    def __init__(self, group: GroupSpec) -> None:
        self._group = group
        self._member_ids = list(group.members)
        self.subscribers: dict[UUID, list[int]] = {}
        """Positions of members in `_member_ids`, by topic."""
        for position, member in enumerate(group.members.values()):
            for topic_id in member.topic_ids:
                self.subscribers.setdefault(topic_id, []).append(position)
        self._owners: dict[UUID, list[int | None]] = {
            topic_id: [None] * group.partition_counts[topic_id] for topic_id in self.subscribers
        }
        self._loads = [0] * len(self._member_ids)
        for position, member in enumerate(group.members.values()):
            for topic_id in member.topic_ids:
                owners = self._owners[topic_id]
                for index in member.target.get(topic_id, ()):
                    if index < len(owners):
                        owners[index] = position
                        self._loads[position] += 1

    def targets(self) -> dict[str, Assignment]:
        """Return the partitions of each member."""
        indexes: list[dict[UUID, set[int]]] = [{} for _ in self._member_ids]
        for topic_id, owners in self._owners.items():
            for index, position in enumerate(owners):
                if position is not None:
                    indexes[position].setdefault(topic_id, set()).add(index)
        return {
            member_id: {topic_id: frozenset(found) for topic_id, found in by_topic.items()}
            for member_id, by_topic in zip(self._member_ids, indexes, strict=True)
        }

    def assign_free_partitions(self) -> None:
        """Give each partition without an owner to the subscriber with the fewest partitions."""
        for topic_id in self._in_order(self.subscribers):
            owners = self._owners[topic_id]
            by_load = self._by_load(topic_id)
            for index, owner in enumerate(owners):
                if owner is None:
                    load, rank, position = by_load[0]
                    owners[index] = position
                    self._loads[position] += 1
                    heapreplace(by_load, (load + 1, rank, position))

    def balance(self) -> None:
        """Move partitions from members with many to members with few."""
        shared = [topic_id for topic_id, found in self.subscribers.items() if len(found) > 1]
        topic_ids = self._in_order(shared)
        for _ in range(ROUNDS_MAX):
            if not sum([self._balance_topic(topic_id) for topic_id in topic_ids]):
                return

    def _balance_topic(self, topic_id: UUID) -> int:
        """Make the numbers of a topic's subscribers as equal as it can; return the moves."""
        owners, loads = self._owners[topic_id], self._loads
        fewest = self._by_load(topic_id)
        if max(loads[position] for _, _, position in fewest) - fewest[0][0] <= 1:
            return 0
        owned: dict[int, list[int]] = {}
        for index, owner in enumerate(owners):
            if owner is not None:
                owned.setdefault(owner, []).append(index)
        most = [(-load, -rank, position) for load, rank, position in fewest if position in owned]
        heapify(most)
        move_count = 0
        while most:
            negative_load, negative_rank, donor = heappop(most)
            receiver_load, receiver_rank, receiver = fewest[0]
            # A donor that gave and a receiver that got never change roles before they are equal,
            # so the other heap's entries of them are never used.
            if -negative_load - receiver_load <= 1:
                break
            owners[owned[donor].pop()] = receiver
            loads[donor] -= 1
            loads[receiver] += 1
            move_count += 1
            heapreplace(fewest, (receiver_load + 1, receiver_rank, receiver))
            if owned[donor]:
                heappush(most, (negative_load + 1, negative_rank, donor))
        return move_count

    def _by_load(self, topic_id: UUID) -> list[tuple[int, int, int]]:
        """Return a heap of (load, rank, position) of a topic's subscribers."""
        ordered = sorted((self._loads[p], p) for p in self.subscribers[topic_id])
        return [(load, rank, position) for rank, (load, position) in enumerate(ordered)]

    def _in_order(self, topic_ids: Iterable[UUID]) -> list[UUID]:
        """Topics with many partitions for each subscriber first, as in Kafka."""

        def order(topic_id: UUID) -> tuple[float, int, tuple[int, int]]:
            subscriber_count = len(self.subscribers[topic_id])
            partition_count = self._group.partition_counts[topic_id]
            return -partition_count / subscriber_count, subscriber_count, topic_order(topic_id)

        return sorted(topic_ids, key=order)
