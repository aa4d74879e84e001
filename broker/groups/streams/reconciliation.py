"""Move a member towards its target: first it gives up tasks, then it gets those that are free.

An active task is free when no member has it. A standby task is free when its process has not got
the task. A member that has the standby task of its new active task keeps it until then.

Source: Kafka's `CurrentAssignmentBuilder`.
"""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from broker.groups.streams.member import MemberState, StreamsMember
from broker.groups.streams.task_owners import TaskOwners
from broker.groups.streams.tasks import (
    NOTHING_OWNED,
    OwnedTasks,
    TargetTasks,
    TaskEpochs,
    TaskId,
    grouped,
    ids_of,
)

_NO_TASKS: frozenset[TaskId] = frozenset()


class _Difference(NamedTuple):
    """Tasks of one role: kept, to give up, and free ones to get."""

    kept: set[TaskId]
    revoked: set[TaskId]
    free: set[TaskId]
    has_unreleased: bool


def reconcile(
    member: StreamsMember,
    assignment_epoch: int,
    target: TargetTasks,
    owners: TaskOwners,
    reported: TargetTasks | None,
) -> StreamsMember:
    """Return the member with what it may have now.

    Args:
        member: before.
        assignment_epoch: the epoch of the target assignment.
        target: what the member shall have in the end.
        owners: the processes that have tasks, this member's included.
        reported: what the member says that it has, or None if its request has nothing.
    """
    member_epoch = member.member_epoch
    if member.is_reconciled_to(assignment_epoch):
        return member
    if member.state is MemberState.UNREVOKED_TASKS:
        if _may_have(reported, member.pending_revocation):
            return member
        # It has given up everything, which completes the step from its epoch to the next.
        member_epoch += 1
    epochs = {
        (name, index): epoch
        for name, by_index in member.assigned.active.items()
        for index, epoch in by_index.items()
    }
    had_standby = set(ids_of(member.assigned.standby))
    targeted = set(ids_of(target.active))
    process_id = member.process_id

    def is_active_elsewhere(task: TaskId) -> bool:
        is_standby_here = owners.has_standby(task, process_id) and task not in had_standby
        return owners.active_process(task) is not None or is_standby_here

    def is_on_process(task: TaskId) -> bool:
        runs_here = owners.active_process(task) == process_id and task not in epochs
        return runs_here or owners.has_standby(task, process_id)

    active = _difference(epochs.keys(), targeted, is_active_elsewhere)
    standby = _difference(had_standby, set(ids_of(target.standby)), is_on_process)
    # What it runs, or keeps a copy of, needs no release when the member changes its role.
    standby.kept.update(demoted := standby.free & epochs.keys())
    standby.free.difference_update(demoted)
    standby.revoked.difference_update(targeted)
    revocation = OwnedTasks(_with_epochs(active.revoked, epochs), grouped(standby.revoked))
    must_revoke = not revocation.is_empty and _may_have(reported, revocation)
    promoted = _NO_TASKS if must_revoke else active.free
    standby.kept.update((had_standby & targeted) - promoted)
    if must_revoke:
        return replace(
            member,
            state=MemberState.UNREVOKED_TASKS,
            member_epoch=member_epoch,
            previous_member_epoch=member.member_epoch,
            assigned=OwnedTasks(_with_epochs(active.kept, epochs), grouped(standby.kept)),
            pending_revocation=revocation,
        )
    has_unreleased = active.has_unreleased or standby.has_unreleased
    epochs |= dict.fromkeys(active.free, assignment_epoch)
    return replace(
        member,
        state=MemberState.UNRELEASED_TASKS if has_unreleased else MemberState.STABLE,
        member_epoch=assignment_epoch,
        previous_member_epoch=member.member_epoch,
        assigned=OwnedTasks(
            _with_epochs(active.kept | active.free, epochs),
            grouped(standby.kept | standby.free),
        ),
        pending_revocation=NOTHING_OWNED,
    )


def _difference(
    current: AbstractSet[TaskId], target: set[TaskId], is_unreleased: Callable[[TaskId], bool]
) -> _Difference:
    missing = target - current
    free = {task for task in missing if not is_unreleased(task)}
    return _Difference(set(current & target), set(current - target), free, free != missing)


def _may_have(reported: TargetTasks | None, tasks: OwnedTasks) -> bool:
    """Return whether a member may still have some of these tasks."""
    return reported is None or tasks.overlaps(reported)


def _with_epochs(tasks: Iterable[TaskId], epochs: Mapping[TaskId, int]) -> TaskEpochs:
    return {
        name: {index: epochs[name, index] for index in indexes}
        for name, indexes in grouped(tasks).items()
    }
