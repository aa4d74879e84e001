"""The assignor `uniform`: equal numbers of partitions, and as few moves as possible.

This module handles groups whose members subscribe to the same topics. Racks play no role.
Source: Kafka's `UniformAssignor` and `UniformHomogeneousAssignmentBuilder`.
"""

from uuid import UUID

from broker.groups.consumer.assignment import Assignment, TopicPartition
from broker.groups.consumer.group_spec import GroupSpec
from broker.groups.consumer.heterogeneous_assignor import assign_heterogeneous


def assign_uniformly(group: GroupSpec) -> dict[str, Assignment]:
    """Return the target of each member; `Assignor`."""
    if not group.members:
        return {}
    if group.is_homogeneous:
        return _assign_homogeneous(group)
    return assign_heterogeneous(group)


def _assign_homogeneous(group: GroupSpec) -> dict[str, Assignment]:
    topic_ids = dict.fromkeys(next(iter(group.members.values())).topic_ids)
    if not topic_ids:
        return {}
    targeted: dict[UUID, set[int]] = {topic_id: set() for topic_id in topic_ids}
    for member in group.members.values():
        for topic_id, indexes in member.target.items():
            if topic_id in targeted:
                targeted[topic_id] |= indexes
    unassigned = [
        (topic_id, index)
        for topic_id, given in targeted.items()
        for index in range(group.partition_counts[topic_id])
        if index not in given
    ]
    targets, open_quotas = _keep_up_to_quota(group, topic_ids, unassigned)
    position = 0
    for member_id, quota in open_quotas.items():
        added: dict[UUID, set[int]] = {}
        for topic_id, index in unassigned[position : position + quota]:
            added.setdefault(topic_id, set()).add(index)
        position += quota
        target = targets[member_id]
        targets[member_id] = {
            **target,
            **{
                topic_id: target.get(topic_id, frozenset()) | indexes
                for topic_id, indexes in added.items()
            },
        }
    return targets


def _keep_up_to_quota(
    group: GroupSpec, topic_ids: dict[UUID, None], unassigned: list[TopicPartition]
) -> tuple[dict[str, Assignment], dict[str, int]]:
    """Return what each member keeps, and how many partitions those below their quota lack.

    Partitions above a quota are appended to `unassigned`.
    """
    member_count = len(group.members)
    total = sum(group.partition_counts[topic_id] for topic_id in topic_ids)
    quota_min, extra_count = divmod(total, member_count)
    targets: dict[str, Assignment] = {}
    open_quotas: dict[str, int] = {}
    for position, (member_id, member) in enumerate(group.members.items()):
        has_extra = extra_count > 0
        quota = quota_min + has_extra
        kept: dict[UUID, frozenset[int]] = {}
        for topic_id, indexes in member.target.items():
            if topic_id not in topic_ids:
                continue
            if len(indexes) > quota:
                ordered = sorted(indexes)
                unassigned.extend((topic_id, index) for index in ordered[quota:])
                indexes = frozenset(ordered[:quota])  # noqa: PLW2901 - others get the rest
            if indexes:
                kept[topic_id] = indexes
            quota -= len(indexes)
        if quota > 0 and has_extra and member_count - position > extra_count:
            # Leave the additional partition to another member, unless only those are left that
            # have to take one.
            quota -= 1
            has_extra = False
        if quota > 0:
            open_quotas[member_id] = quota
        extra_count -= has_extra
        targets[member_id] = kept
    return targets, open_quotas
