from broker.groups.requests import MemberIdentity
from broker.groups.results import GroupState, JoinResult, LeftMember
from protocol.errors import ErrorCode
from tests.broker.groups.driver import GROUP, Driver


def test_a_batch_of_leaves_has_one_result_per_member() -> None:
    driver = Driver()
    static_id, other_id = driver.stable_static_and_dynamic()
    pending_id = driver.join(must_know_id=True)[0].member_id
    identities = [
        MemberIdentity("made-up"),
        MemberIdentity(pending_id),
        MemberIdentity("", "nobody"),
        MemberIdentity(other_id, "i"),
        MemberIdentity("", "i"),
        MemberIdentity(static_id, "i"),
    ]

    error_code, left = driver.groups.leave(GROUP, identities, driver.now_ms)

    assert error_code is ErrorCode.NONE
    assert left == tuple(
        LeftMember(who.member_id, who.group_instance_id, code)
        for who, code in zip(
            identities,
            (
                ErrorCode.UNKNOWN_MEMBER_ID,
                ErrorCode.NONE,
                ErrorCode.UNKNOWN_MEMBER_ID,
                ErrorCode.FENCED_INSTANCE_ID,
                ErrorCode.NONE,
                ErrorCode.UNKNOWN_MEMBER_ID,
            ),
            strict=True,
        )
    )
    assert [member.member_id for member in driver.describe().members] == [other_id]
    assert driver.state is GroupState.PREPARING_REBALANCE


def test_a_leave_of_unknown_members_changes_nothing() -> None:
    driver = Driver()
    driver.stable("a")

    driver.groups.leave(GROUP, [MemberIdentity("made-up")], driver.now_ms)

    assert (driver.state, driver.generation_id) == (GroupState.STABLE, 1)


def test_a_leave_of_the_last_missing_member_ends_the_rebalance() -> None:
    driver = Driver()
    leader_id, other_id = driver.stable("a", "b")
    waiting = driver.join(leader_id)

    driver.groups.leave(GROUP, [MemberIdentity(other_id)], driver.now_ms)

    assert waiting[0].generation_id == 3


def test_a_member_that_leaves_while_it_waits_to_join_gets_an_error() -> None:
    driver = Driver()
    driver.stable("a")
    waiting = driver.join(must_know_id=True)
    waiting = driver.join(waiting[0].member_id)

    driver.groups.leave(GROUP, [MemberIdentity("client-id2")], driver.now_ms)

    assert waiting == [JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, "")]
