"""Move a member towards its target assignment: first it revokes, then it gets free partitions.

Source: Kafka's `CurrentAssignmentBuilder`.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from uuid import UUID

from broker.groups.consumer.assignment import (
    NO_PARTITIONS,
    Assignment,
    PartitionEpochs,
    overlaps,
    partitions_of,
)
from broker.groups.consumer.member import ConsumerMember, MemberState

_NONE: frozenset[int] = frozenset()


def reconcile(
    member: ConsumerMember,
    assignment_epoch: int,
    target: Assignment,
    owned: Mapping[UUID, AbstractSet[int]],
    reported: Assignment | None,
) -> ConsumerMember:
    """Return the member with what it may own now; the same object if nothing changes.

    It gets partitions in the epoch of the target assignment, and keeps them in theirs.

    Args:
        member: before.
        assignment_epoch: the epoch of the target assignment.
        target: what the member shall own in the end.
        owned: partitions that a member of the group owns, this one included, by topic id.
        reported: partitions that the member says it owns, or None if its request has none.
    """
    member_epoch = member.member_epoch
    if member.state is MemberState.STABLE and member_epoch == assignment_epoch:
        return member
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if _may_own(reported, member.partitions_pending_revocation):
            return member
        # It has revoked everything, which completes the step from its epoch to the next.
        member_epoch += 1
    kept: dict[UUID, frozenset[int]] = {}
    revoked: dict[UUID, frozenset[int]] = {}
    free: dict[UUID, frozenset[int]] = {}
    has_unreleased = False
    for topic_id in target.keys() | member.assigned_partitions.keys():
        targeted = target.get(topic_id, _NONE)
        current = member.assigned_partitions.get(topic_id, _NONE)
        missing = targeted - current
        kept[topic_id] = current & targeted
        revoked[topic_id] = current - targeted
        free[topic_id] = missing - owned.get(topic_id, _NONE)
        has_unreleased |= len(free[topic_id]) < len(missing)
    pending_revocation = _without_empty(revoked)
    still_owned = _without_empty(kept)
    if pending_revocation and _may_own(reported, pending_revocation):
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            member_epoch=member_epoch,
            previous_member_epoch=member.member_epoch,
            assigned_partitions=still_owned,
            partitions_pending_revocation=pending_revocation,
            partition_epochs=_epochs(member, (still_owned, pending_revocation), NO_PARTITIONS, 0),
        )
    return replace(
        member,
        state=MemberState.UNRELEASED_PARTITIONS if has_unreleased else MemberState.STABLE,
        member_epoch=assignment_epoch,
        previous_member_epoch=member.member_epoch,
        assigned_partitions=_without_empty(
            {topic_id: indexes | free[topic_id] for topic_id, indexes in kept.items()}
        ),
        partitions_pending_revocation=NO_PARTITIONS,
        partition_epochs=_epochs(member, (still_owned,), free, assignment_epoch),
    )


def _may_own(reported: Assignment | None, partitions: Assignment) -> bool:
    """Return whether a member may still own some of these partitions."""
    return reported is None or overlaps(reported, partitions)


def _epochs(
    member: ConsumerMember, owned: Iterable[Assignment], added: Assignment, added_epoch: int
) -> PartitionEpochs:
    """Return the epochs of partitions that a member owned before, and the one of added ones."""
    epochs: dict[UUID, dict[int, int]] = {}
    for assignment in owned:
        for topic_id, index in partitions_of(assignment):
            epoch = member.partition_epoch(topic_id, index)
            # A partition of unknown epoch counts as got in the epoch that the member had then.
            known = max(member.member_epoch, 0) if epoch is None else epoch
            epochs.setdefault(topic_id, {})[index] = known
    for topic_id, index in partitions_of(added):
        epochs.setdefault(topic_id, {})[index] = added_epoch
    return epochs


def _without_empty(partitions: dict[UUID, frozenset[int]]) -> Assignment:
    return {topic_id: indexes for topic_id, indexes in partitions.items() if indexes}
