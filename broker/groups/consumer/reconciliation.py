"""Move a member towards its target assignment: first it revokes, then it gets free partitions.

Source: Kafka's `CurrentAssignmentBuilder`.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple
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
    subscribed: AbstractSet[UUID] | None = None,
    *,
    has_other_topics: bool = False,
) -> ConsumerMember:
    """Return the member with what it may own now; the same object if nothing changes.

    It gets partitions in the epoch of the target assignment, and keeps them in theirs.

    Args:
        member: before.
        assignment_epoch: the epoch of the target assignment.
        target: what the member shall own in the end.
        owned: partitions that a member of the group owns, this one included, by topic id.
        reported: partitions that the member says it owns, or None if its request has none.
        subscribed: the topics that the member subscribes to, or None before Kafka 4.2, which gave a
            member its target whatever it subscribed to.
        has_other_topics: the member has just changed its subscription.
    """
    member_epoch = member.member_epoch
    is_revoking = member.state is MemberState.UNREVOKED_PARTITIONS
    if member.is_reconciled_to(assignment_epoch) or (
        is_revoking and _may_own(reported, member.partitions_pending_revocation)
    ):
        if subscribed is None or not has_other_topics:
            return member
        return _without_other_topics(member, subscribed, reported)
    if is_revoking and subscribed is None:
        # It has revoked everything, which completes the step from its epoch to the next.
        member_epoch += 1
    found = _difference(member, target, owned, subscribed)
    if found.revoked and _may_own(reported, found.revoked):
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            member_epoch=member_epoch,
            previous_member_epoch=member.member_epoch,
            assigned_partitions=found.kept,
            partitions_pending_revocation=found.revoked,
            partition_epochs=_epochs(member, (found.kept, found.revoked), NO_PARTITIONS, 0),
        )
    topic_ids = found.kept.keys() | found.free.keys()
    return replace(
        member,
        state=MemberState.UNRELEASED_PARTITIONS if found.has_unreleased else MemberState.STABLE,
        member_epoch=assignment_epoch,
        previous_member_epoch=member.member_epoch,
        assigned_partitions={
            topic_id: found.kept.get(topic_id, _NONE) | found.free.get(topic_id, _NONE)
            for topic_id in topic_ids
        },
        partitions_pending_revocation=NO_PARTITIONS,
        partition_epochs=_epochs(member, (found.kept,), found.free, assignment_epoch),
    )


class _Difference(NamedTuple):
    """Partitions that a member keeps, has to give up, and can get at once."""

    kept: Assignment
    revoked: Assignment
    free: Assignment
    has_unreleased: bool


def _difference(
    member: ConsumerMember,
    target: Assignment,
    owned: Mapping[UUID, AbstractSet[int]],
    subscribed: AbstractSet[UUID] | None,
) -> _Difference:
    kept: dict[UUID, frozenset[int]] = {}
    revoked: dict[UUID, frozenset[int]] = {}
    free: dict[UUID, frozenset[int]] = {}
    has_unreleased = False
    for topic_id in target.keys() | member.assigned_partitions.keys():
        is_subscribed = subscribed is None or topic_id in subscribed
        targeted = target.get(topic_id, _NONE) if is_subscribed else _NONE
        current = member.assigned_partitions.get(topic_id, _NONE)
        missing = targeted - current
        unreleased = missing & owned.get(topic_id, _NONE)
        if subscribed is not None:
            unreleased -= member.partitions_pending_revocation.get(topic_id, _NONE)
        kept[topic_id] = current & targeted
        revoked[topic_id] = current - targeted
        free[topic_id] = missing - unreleased
        has_unreleased |= bool(unreleased)
    return _Difference(
        _without_empty(kept), _without_empty(revoked), _without_empty(free), has_unreleased
    )


def _may_own(reported: Assignment | None, partitions: Assignment) -> bool:
    """Return whether a member may still own some of these partitions."""
    return reported is None or overlaps(reported, partitions)


def _without_other_topics(
    member: ConsumerMember, subscribed: AbstractSet[UUID], reported: Assignment | None
) -> ConsumerMember:
    """Take partitions from a member whose topics it no longer subscribes to."""
    kept = {
        topic_id: indexes
        for topic_id, indexes in member.assigned_partitions.items()
        if topic_id in subscribed
    }
    if len(kept) == len(member.assigned_partitions):
        return member
    pending: dict[UUID, frozenset[int]] = dict(member.partitions_pending_revocation)
    for topic_id in member.assigned_partitions.keys() - subscribed:
        pending[topic_id] = pending.get(topic_id, _NONE) | member.assigned_partitions[topic_id]
    must_revoke = _may_own(reported, pending)
    if not must_revoke:
        pending = dict(member.partitions_pending_revocation)
    return replace(
        member,
        state=MemberState.UNREVOKED_PARTITIONS if must_revoke else member.state,
        previous_member_epoch=member.member_epoch,
        assigned_partitions=kept,
        partitions_pending_revocation=pending,
        partition_epochs=_epochs(member, (kept, pending), NO_PARTITIONS, 0),
    )


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
