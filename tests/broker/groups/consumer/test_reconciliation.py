"""The way of one member to its target."""

from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from broker.groups.consumer.assignment import Assignment, overlaps, partitions_of, with_epoch
from broker.groups.consumer.member import ConsumerMember, MemberState
from broker.groups.consumer.reconciliation import reconcile

T = UUID(int=1)


def partitions(*indexes: int) -> Assignment:
    return {T: frozenset(indexes)} if indexes else {}


def member(*assigned: int, epoch: int = 1, got_in: int = 1) -> ConsumerMember:
    return ConsumerMember(
        "m",
        epoch,
        epoch - 1,
        assigned_partitions=partitions(*assigned),
        partition_epochs=with_epoch(partitions(*assigned), got_in),
    )


def epochs(found: ConsumerMember) -> dict[int, int]:
    return dict(found.partition_epochs.get(T, {}))


def owned_by(*members: ConsumerMember) -> dict[UUID, set[int]]:
    return {
        T: {
            index
            for one in members
            for assignment in (one.assigned_partitions, one.partitions_pending_revocation)
            for _, index in partitions_of(assignment)
        }
    }


def test_a_member_with_the_epoch_of_the_target_stays_as_it_is() -> None:
    stable = member(0, 1)
    assert reconcile(stable, 1, partitions(), owned_by(stable), None) is stable


def test_free_partitions_are_assigned_at_once_with_the_new_epoch() -> None:
    updated = reconcile(member(0), 2, partitions(0, 1), {T: {0}}, None)
    assert updated == replace(member(0, 1, epoch=2), partition_epochs={T: {0: 1, 1: 2}})


def test_a_member_keeps_the_epochs_of_partitions_also_of_those_that_it_has_to_revoke() -> None:
    before = replace(member(0, 1, epoch=5), partition_epochs={T: {0: 2, 1: 4}})
    revoking = reconcile(before, 6, partitions(0, 2), owned_by(before), None)
    assert (revoking.member_epoch, epochs(revoking)) == (5, {0: 2, 1: 4})
    settled = reconcile(revoking, 7, partitions(0, 2), owned_by(revoking), partitions(0))
    assert (settled.member_epoch, epochs(settled)) == (7, {0: 2, 2: 7})
    assert settled.partition_epoch(T, 1) is None
    assert settled.partition_epoch(None, 0) is None


def test_a_partition_of_unknown_epoch_counts_as_got_in_the_epoch_that_the_member_had() -> None:
    before = replace(member(0, epoch=5), partition_epochs={})
    assert epochs(reconcile(before, 6, partitions(0), owned_by(before), None)) == {0: 5}


def test_a_member_keeps_its_epoch_until_it_no_longer_reports_what_it_has_to_revoke() -> None:
    before = member(0, 1)
    target, owned = partitions(0), owned_by(before)

    revoking = reconcile(before, 2, target, owned, None)
    assert revoking.state is MemberState.UNREVOKED_PARTITIONS
    assert (revoking.member_epoch, revoking.previous_member_epoch) == (1, 1)
    assert revoking.assigned_partitions == partitions(0)
    assert revoking.partitions_pending_revocation == partitions(1)

    assert reconcile(revoking, 2, target, owned, None) is revoking
    assert reconcile(revoking, 2, target, owned, partitions(0, 1)) is revoking
    assert reconcile(revoking, 2, target, owned, partitions(0)) == member(0, epoch=2)


def test_a_member_that_reports_nothing_of_what_it_loses_skips_the_revocation() -> None:
    before = member(0, 1)
    assert reconcile(before, 2, partitions(0), owned_by(before), partitions(0)) == member(
        0, epoch=2
    )


def test_a_member_waits_for_partitions_that_another_one_still_owns() -> None:
    other = ConsumerMember("other", 1, assigned_partitions=partitions(1))
    before = member(0)

    waiting = reconcile(before, 2, partitions(0, 1, 2), owned_by(before, other), None)
    assert waiting.state is MemberState.UNRELEASED_PARTITIONS
    assert waiting.assigned_partitions == partitions(0, 2)
    assert waiting.member_epoch == 2

    released = reconcile(waiting, 2, partitions(0, 1, 2), owned_by(waiting), None)
    assert released.state is MemberState.STABLE
    assert released.assigned_partitions == partitions(0, 1, 2)


def test_a_member_keeps_its_epoch_in_a_second_revocation_since_kafka_4_2() -> None:
    before = member(0, 1, 2)
    revoking = reconcile(before, 2, partitions(0, 1), owned_by(before), None, {T})
    again = reconcile(revoking, 3, partitions(0), owned_by(revoking), partitions(0, 1), {T})
    assert (again.member_epoch, again.state) == (1, MemberState.UNREVOKED_PARTITIONS)
    assert again.partitions_pending_revocation == partitions(1)
    older = reconcile(revoking, 3, partitions(0), owned_by(revoking), partitions(0, 1))
    assert older.member_epoch == 2


def test_a_member_gets_back_what_it_has_just_revoked_since_kafka_4_2() -> None:
    before = member(0, 1)
    revoking = reconcile(before, 2, partitions(0), owned_by(before), None, {T})
    target, owned = partitions(0, 1), owned_by(revoking)
    regained = reconcile(revoking, 3, target, owned, partitions(0), {T})
    assert (regained.state, regained.assigned_partitions) == (MemberState.STABLE, target)
    assert epochs(regained) == {0: 1, 1: 3}
    older = reconcile(revoking, 3, target, owned, partitions(0))
    assert (older.state, older.assigned_partitions) == (
        MemberState.UNRELEASED_PARTITIONS,
        partitions(0),
    )


def test_a_member_gets_nothing_of_a_topic_that_it_does_not_subscribe_to_since_kafka_4_2() -> None:
    assert reconcile(member(), 2, partitions(0), {}, None, set()).assigned_partitions == {}
    assert reconcile(member(), 2, partitions(0), {}, None).assigned_partitions == partitions(0)


def test_a_member_that_ends_a_subscription_revokes_its_partitions_without_a_new_target() -> None:
    before, target = member(0, 1), partitions(0, 1)

    def changed(
        found: ConsumerMember, subscribed: set[UUID] | None, reported: Assignment | None
    ) -> ConsumerMember:
        return reconcile(
            found, 1, target, owned_by(found), reported, subscribed, has_other_topics=True
        )

    assert changed(before, {T}, None) is before
    assert changed(before, None, None) is before
    revoking = changed(before, set(), None)
    assert (revoking.state, revoking.member_epoch, revoking.previous_member_epoch) == (
        *(MemberState.UNREVOKED_PARTITIONS, 1, 1),
    )
    assert (revoking.assigned_partitions, revoking.partitions_pending_revocation) == ({}, target)
    assert epochs(revoking) == {0: 1, 1: 1}
    gone = changed(before, set(), {})
    assert (gone.state, gone.assigned_partitions, epochs(gone)) == (MemberState.STABLE, {}, {})

    first = reconcile(before, 2, partitions(0), owned_by(before), None, {T})
    both = changed(first, set(), None)
    assert (both.assigned_partitions, both.partitions_pending_revocation) == ({}, target)


INDEXES = st.frozensets(st.integers(0, 5), max_size=6)


@given(assigned=INDEXES, target=INDEXES, others=INDEXES, reported=st.none() | INDEXES)
def test_a_member_never_gets_what_it_should_not_have_or_what_another_one_owns(
    assigned: frozenset[int],
    target: frozenset[int],
    others: frozenset[int],
    reported: frozenset[int] | None,
) -> None:
    before = member(*(assigned - others))
    other = ConsumerMember("other", 1, assigned_partitions=partitions(*others))

    after = reconcile(
        before,
        2,
        partitions(*target),
        owned_by(before, other),
        None if reported is None else partitions(*reported),
    )

    kept = set(partitions_of(before.assigned_partitions))
    owns = {
        *partitions_of(after.assigned_partitions),
        *partitions_of(after.partitions_pending_revocation),
    }
    assert epochs(after) == {index: 1 if (T, index) in kept else 2 for _, index in owns}
    assert not overlaps(after.assigned_partitions, partitions(*others))
    assert set(partitions_of(after.assigned_partitions)) <= {(T, index) for index in target}
    lost = assigned - others - target
    if lost and (reported is None or lost & reported):
        assert after.state is MemberState.UNREVOKED_PARTITIONS
        assert after.partitions_pending_revocation == partitions(*lost)
    else:
        assert after.member_epoch == 2
        assert (after.state is MemberState.STABLE) == (not target & others)
