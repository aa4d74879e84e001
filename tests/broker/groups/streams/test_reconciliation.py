"""How a member moves towards its target."""

from dataclasses import replace

from broker.groups.streams.member import MemberState, StreamsMember
from broker.groups.streams.reconciliation import reconcile
from broker.groups.streams.task_owners import TaskOwners
from broker.groups.streams.tasks import NOTHING_TARGETED, OwnedTasks, TargetTasks
from tests.broker.groups.streams.driver import renamed

STABLE, UNREVOKED, UNRELEASED = MemberState


def member(
    active: dict[int, int] | None = None, standby: tuple[int, ...] = (), **fields: object
) -> StreamsMember:
    owned = OwnedTasks({"0": active} if active else {}, renamed({"0": standby}) if standby else {})
    made = StreamsMember("m", 5, 4, process_id="p", assigned=owned)
    return replace(made, **fields)  # type: ignore[arg-type]


def tasks(active: tuple[int, ...] = (), standby: tuple[int, ...] = ()) -> TargetTasks:
    return TargetTasks(
        renamed({"0": active}) if active else {}, renamed({"0": standby}) if standby else {}
    )


def owners(*members: StreamsMember) -> TaskOwners:
    found = TaskOwners()
    for one in members:
        found.add(one)
    return found


def test_a_member_at_its_target_stays_as_it_is() -> None:
    before = member({1: 5})
    assert reconcile(before, 5, tasks((1,)), owners(before), None) is before


def test_a_free_task_is_given_with_the_epoch_of_the_target() -> None:
    before = member({1: 3})
    after = reconcile(before, 6, tasks((1, 2)), owners(before), tasks((1,)))
    assert (after.state, after.member_epoch, after.previous_member_epoch) == (STABLE, 6, 5)
    assert after.assigned.active == {"0": {1: 3, 2: 6}}


def test_a_task_is_revoked_before_the_member_gets_others() -> None:
    before = member({1: 3})
    after = reconcile(before, 6, tasks((2,)), owners(before), tasks((1,)))
    assert (after.state, after.member_epoch) == (UNREVOKED, 5)
    assert after.assigned.active == {}
    assert after.pending_revocation.active == {"0": {1: 3}}
    waiting = reconcile(after, 6, tasks((2,)), owners(after), None)
    assert waiting is after
    done = reconcile(after, 6, tasks((2,)), owners(after), tasks())
    assert (done.state, done.member_epoch) == (STABLE, 6)
    assert done.assigned.active == {"0": {2: 6}}
    assert done.pending_revocation.is_empty


def test_a_member_that_has_given_up_its_tasks_already_gets_the_others_at_once() -> None:
    before = member({1: 3})
    after = reconcile(before, 6, tasks((2,)), owners(before), tasks())
    assert (after.state, after.assigned.active) == (STABLE, {"0": {2: 6}})


def test_a_task_that_another_member_has_is_waited_for() -> None:
    before = member()
    other = member({1: 3}, process_id="q")
    after = reconcile(before, 6, tasks((1,)), owners(before, other), tasks())
    assert (after.state, after.member_epoch, after.assigned.active) == (UNRELEASED, 6, {})
    free = reconcile(after, 6, tasks((1,)), owners(after), tasks())
    assert (free.state, free.assigned.active) == (STABLE, {"0": {1: 6}})


def test_a_task_that_another_member_has_to_give_up_is_waited_for() -> None:
    other = member(process_id="q", pending_revocation=OwnedTasks({"0": {1: 3}}))
    after = reconcile(member(), 6, tasks((1,)), owners(other), tasks())
    assert after.state is UNRELEASED


def test_a_standby_task_waits_for_its_own_process_only() -> None:
    elsewhere = member(standby=(1,), process_id="q")
    after = reconcile(member(), 6, tasks(standby=(1,)), owners(elsewhere), tasks())
    assert after.state is STABLE
    assert after.assigned.standby == {"0": {1}}
    here = member(standby=(1,))
    after = reconcile(member(), 6, tasks(standby=(1,)), owners(here), tasks())
    assert after.state is UNRELEASED
    runs_here = member({1: 3})
    after = reconcile(member(), 6, tasks(standby=(1,)), owners(runs_here), tasks())
    assert after.state is UNRELEASED


def test_an_active_task_waits_for_a_standby_task_of_its_process() -> None:
    here = member(standby=(1,))
    after = reconcile(member(), 6, tasks((1,)), owners(here), tasks())
    assert after.state is UNRELEASED


def test_a_standby_task_becomes_active_in_one_step() -> None:
    before = member(standby=(1,))
    after = reconcile(before, 6, tasks((1,)), owners(before), tasks(standby=(1,)))
    assert (after.state, after.assigned.active, after.assigned.standby) == (
        STABLE,
        {"0": {1: 6}},
        {},
    )


def test_a_standby_task_is_kept_until_the_active_one_is_free() -> None:
    before = member(standby=(1,))
    other = member({1: 3}, process_id="q")
    after = reconcile(before, 6, tasks((1,)), owners(before, other), tasks(standby=(1,)))
    assert after.state is UNRELEASED
    assert after.assigned.standby == {"0": {1}}
    assert after.assigned.active == {}


def test_a_standby_task_is_kept_while_others_are_revoked() -> None:
    before = member({2: 3}, standby=(1,))
    after = reconcile(before, 6, tasks((1,)), owners(before), tasks((2,), (1,)))
    assert after.state is UNREVOKED
    assert after.assigned.standby == {"0": {1}}
    assert after.pending_revocation == OwnedTasks({"0": {2: 3}})


def test_an_active_task_becomes_a_standby_task_while_it_is_revoked() -> None:
    before = member({1: 3})
    after = reconcile(before, 6, tasks(standby=(1,)), owners(before), tasks((1,)))
    assert after.state is UNREVOKED
    assert after.assigned.standby == {"0": {1}}
    assert after.pending_revocation == OwnedTasks({"0": {1: 3}})


def test_a_group_that_cannot_work_takes_all_tasks_back() -> None:
    before = member({1: 3})
    after = reconcile(before, 6, NOTHING_TARGETED, owners(before), tasks())
    assert (after.state, after.assigned.is_empty) == (STABLE, True)
