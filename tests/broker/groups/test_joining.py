"""Which members join a group, which get only a member id, and which are refused."""

from typing import Any

import pytest

from broker.groups.results import GroupState, JoinedMember, JoinResult
from protocol.errors import ErrorCode
from tests.broker.groups.driver import REBALANCE_MS, SESSION_MS, Driver


def test_the_only_member_leads_generation_1_at_once() -> None:
    assert Driver().join() == [
        JoinResult(
            ErrorCode.NONE,
            member_id="client-id1",
            generation_id=1,
            protocol_type="consumer",
            protocol_name="range",
            leader_id="client-id1",
            members=(JoinedMember("client-id1", None, b"meta"),),
        )
    ]


def test_a_member_that_must_know_its_id_joins_in_two_steps() -> None:
    driver = Driver()

    (first,) = driver.join(must_know_id=True)

    assert first == JoinResult(ErrorCode.MEMBER_ID_REQUIRED, "client-id1")
    assert driver.is_empty
    (second,) = driver.join(first.member_id, must_know_id=True)
    assert (second.error_code, second.member_id) == (ErrorCode.NONE, "client-id1")


@pytest.mark.parametrize("instance_id", [None, "i" * 32_767])
def test_a_member_whose_id_would_be_too_long_is_refused(instance_id: str | None) -> None:
    driver = Driver()
    client_id = "client" if instance_id else "c" * 32_767
    (result,) = driver.join(client_id=client_id, group_instance_id=instance_id)
    assert result == JoinResult(ErrorCode.INVALID_REQUEST, "")
    assert driver.is_empty


def test_a_reserved_member_id_expires_after_the_session_timeout() -> None:
    driver = Driver()
    (kept,) = driver.join(must_know_id=True)
    driver.advance(SESSION_MS - 1)
    (late,) = driver.join(must_know_id=True)
    assert driver.join(kept.member_id)[0].error_code is ErrorCode.NONE

    driver.advance(SESSION_MS)

    assert driver.join(late.member_id)[0].error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_a_reserved_member_id_until_it_expires() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a", session_timeout_ms=6 * SESSION_MS)
    driver.join(must_know_id=True)
    responses = driver.join(leader_id, session_timeout_ms=6 * SESSION_MS)

    driver.advance(SESSION_MS - 1)
    assert responses == []
    driver.advance(1)

    assert responses[0].generation_id == 2


def test_a_static_member_cannot_use_an_id_reserved_for_a_dynamic_one() -> None:
    driver = Driver()
    (first,) = driver.join(must_know_id=True)

    (second,) = driver.join(first.member_id, group_instance_id="i")

    assert second == JoinResult(ErrorCode.UNKNOWN_SERVER_ERROR, first.member_id)


def test_an_unreserved_member_id_is_unknown_with_and_without_a_group() -> None:
    driver = Driver()
    assert driver.join("made-up") == [JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, "made-up")]
    driver.stable("a")
    assert driver.join("made-up") == [JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, "made-up")]


@pytest.mark.parametrize(
    ("changes", "error_code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_an_invalid_join_is_refused(changes: dict[str, Any], error_code: ErrorCode) -> None:
    assert Driver().join(**changes) == [JoinResult(error_code, "")]


@pytest.mark.parametrize(
    "changes", [{"protocol_type": "connect"}, {"protocols": {"sticky": b""}}, {"protocols": {}}]
)
def test_a_member_that_shares_no_protocol_with_all_others_is_refused(
    changes: dict[str, Any],
) -> None:
    driver = Driver()
    driver.stable("a")

    assert driver.join(**changes) == [JoinResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")]
    assert driver.state is GroupState.STABLE


def test_a_full_group_refuses_new_members_and_keeps_its_members() -> None:
    driver = Driver(group_max_size=2)
    first_id, second_id = driver.stable("a", "b")

    assert driver.join() == [JoinResult(ErrorCode.GROUP_MAX_SIZE_REACHED, "")]
    assert driver.join(second_id)[0].error_code is ErrorCode.NONE
    assert driver.heartbeat(first_id, 2) is ErrorCode.NONE


def test_during_a_rebalance_only_joined_members_count_for_the_size() -> None:
    driver = Driver(group_max_size=2)
    first_id, second_id = driver.stable("a", "b")
    waiting = driver.join(first_id)

    newcomer = driver.join(client_id="c")
    turned_away = driver.join(second_id)

    assert turned_away == [JoinResult(ErrorCode.GROUP_MAX_SIZE_REACHED, "")]
    assert [responses[0].error_code for responses in (waiting, newcomer)] == [ErrorCode.NONE] * 2
    assert {member.member_id for member in waiting[0].members} == {
        first_id,
        newcomer[0].member_id,
    }


def test_a_rebalance_does_not_wait_for_a_refused_member_id() -> None:
    driver = Driver(group_max_size=1)
    (leader_id,) = driver.stable("a")
    driver.groups.table.config = {**driver.groups.table.config, "group.max.size": 2}
    (pending,) = driver.join(must_know_id=True)
    driver.groups.table.config = {**driver.groups.table.config, "group.max.size": 1}
    waiting = driver.join(leader_id)

    assert driver.join(pending.member_id)[0].error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert waiting[0].generation_id == 2


def test_a_leader_that_joins_a_stable_group_again_rebalances_it() -> None:
    driver = Driver()
    leader_id, follower_id = driver.stable("a", "b")

    responses = driver.join(leader_id)

    assert (responses, driver.state) == ([], GroupState.PREPARING_REBALANCE)
    assert driver.heartbeat(follower_id, 2) is ErrorCode.REBALANCE_IN_PROGRESS


def test_an_unchanged_follower_that_joins_again_gets_the_generation_it_is_in() -> None:
    driver = Driver()
    leader_id, follower_id = driver.stable("a", "b")

    (again,) = driver.join(follower_id)

    assert (again.generation_id, again.leader_id, again.members) == (2, leader_id, ())
    assert driver.state is GroupState.STABLE


def test_a_follower_with_another_subscription_rebalances_the_group() -> None:
    driver = Driver()
    leader_id, follower_id = driver.stable("a", "b")

    driver.join(follower_id, protocols={"range": b"other topics"})
    (result,) = driver.join(leader_id)

    assert result.members[1] == JoinedMember(follower_id, None, b"other topics")


def test_the_order_of_protocols_is_part_of_a_subscription() -> None:
    driver = Driver()
    both = {"range": b"", "sticky": b""}
    _, follower_id = driver.stable("a", "b", protocols=both)

    responses = driver.join(follower_id, protocols={"sticky": b"", "range": b""})

    assert (responses, driver.state) == ([], GroupState.PREPARING_REBALANCE)


def test_a_rejoin_before_the_assignment_repeats_the_response() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    newcomer = driver.join(client_id="b")
    (leader,) = driver.join(leader_id)

    assert driver.state is GroupState.COMPLETING_REBALANCE
    assert driver.join(leader_id) == [leader]
    assert driver.join(newcomer[0].member_id) == newcomer
    assert driver.generation_id == 2


def test_changed_metadata_before_the_assignment_restarts_the_rebalance() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    newcomer = driver.join(client_id="b")
    driver.join(leader_id)
    follower_id = newcomer[0].member_id
    waiting_sync = driver.sync(follower_id, 2)

    driver.join(follower_id, protocols={"range": b"changed"})

    assert driver.state is GroupState.PREPARING_REBALANCE
    assert waiting_sync[0].error_code is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_second_join_of_a_waiting_member_replaces_the_first() -> None:
    driver = Driver()
    leader_id, follower_id = driver.stable("a", "b")
    first = driver.join(leader_id)

    second = driver.join(leader_id)
    driver.join(follower_id)

    assert first == [JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, leader_id)]
    assert second[0].generation_id == 3


# Static members -----------------------------------------------------------------------------


def test_a_static_members_id_begins_with_its_instance_id() -> None:
    (result,) = Driver().join(group_instance_id="desk", must_know_id=True)

    assert (result.error_code, result.member_id) == (ErrorCode.NONE, "desk-id1")
    assert result.members == (JoinedMember("desk-id1", "desk", b"meta"),)


def test_a_static_follower_that_restarts_does_not_rebalance_the_group() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    newcomer = driver.join(group_instance_id="i")
    driver.join(leader_id)
    old_id = newcomer[0].member_id
    driver.sync(leader_id, 2, {old_id: b"partitions"})

    (back,) = driver.join(group_instance_id="i", can_skip_assignment=True)

    assert (back.error_code, back.generation_id, back.leader_id) == (ErrorCode.NONE, 2, leader_id)
    assert back.member_id != old_id
    assert (back.skip_assignment, back.members) == (False, ())
    assert driver.sync(back.member_id, 2)[0].assignment == b"partitions"
    assert driver.state is GroupState.STABLE


def test_a_static_leader_that_restarts_skips_the_assignment_if_it_can() -> None:
    driver = Driver()
    driver.stable("a", group_instance_id="i")

    (back,) = driver.join(group_instance_id="i", can_skip_assignment=True)

    assert (back.leader_id, back.skip_assignment) == (back.member_id, True)
    assert [member.member_id for member in back.members] == [back.member_id]


def test_the_response_to_an_old_static_leader_that_restarts_does_not_name_it_leader() -> None:
    driver = Driver()
    (old_id,) = driver.stable("a", group_instance_id="i")

    (back,) = driver.join(group_instance_id="i")

    assert (back.leader_id, back.skip_assignment, back.members) == (old_id, False, ())
    assert driver.sync(back.member_id, 1)[0].assignment == b"for i-id1"


def test_a_static_member_that_changes_the_groups_protocol_rebalances_it() -> None:
    driver = Driver()
    driver.stable("a", group_instance_id="i", protocols={"range": b"", "sticky": b""})

    (back,) = driver.join(group_instance_id="i", protocols={"sticky": b"", "range": b""})

    assert (back.generation_id, back.protocol_name) == (2, "sticky")


def test_a_static_member_replaced_while_it_waits_is_fenced_in_join_and_sync() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    first = driver.join(group_instance_id="i")
    second = driver.join(group_instance_id="i")
    assert [first[0].error_code, second] == [ErrorCode.FENCED_INSTANCE_ID, []]
    driver.join(leader_id)
    waiting_sync = driver.sync(second[0].member_id, 2)

    third = driver.join(group_instance_id="i")

    assert waiting_sync[0].error_code is ErrorCode.FENCED_INSTANCE_ID
    assert (third, driver.state) == ([], GroupState.PREPARING_REBALANCE)


def test_the_old_id_of_a_replaced_static_member_is_fenced_everywhere() -> None:
    driver = Driver()
    (old_id,) = driver.stable("a", group_instance_id="i")
    driver.join(group_instance_id="i")
    fenced = ErrorCode.FENCED_INSTANCE_ID

    assert driver.heartbeat(old_id, 1, "i") is fenced
    assert driver.sync(old_id, 1, group_instance_id="i")[0].error_code is fenced
    assert driver.join(old_id, group_instance_id="i")[0].error_code is fenced
    commit = driver.commit(member_id=old_id, group_instance_id="i", generation_id=1)
    assert commit is fenced


def test_an_unused_instance_id_is_unknown() -> None:
    driver = Driver()
    (member_id,) = driver.stable("a")

    assert driver.heartbeat(member_id, 1, "i") is ErrorCode.UNKNOWN_MEMBER_ID
    (result,) = driver.join(member_id, group_instance_id="i")
    assert result.error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_replaced_static_members_session_runs_under_its_new_id() -> None:
    driver = Driver()
    driver.stable("a", group_instance_id="i")
    driver.advance(SESSION_MS - 1)
    (back,) = driver.join(group_instance_id="i")
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat(back.member_id, 1, "i") is ErrorCode.NONE

    driver.advance(SESSION_MS)

    assert driver.is_empty


def test_an_absent_static_member_stays_through_a_rebalance_until_its_session_expires() -> None:
    driver = Driver()
    static_id, other_id = driver.stable_static_and_dynamic()
    waiting = driver.join(other_id, protocols={"range": b"changed"})
    for _ in range(REBALANCE_MS // 5_000):
        driver.advance(5_000)
        driver.heartbeat(static_id, 2, "i")

    assert waiting[0].leader_id == other_id
    assert [member.member_id for member in waiting[0].members] == [static_id, other_id]
    driver.advance(SESSION_MS)
    assert driver.heartbeat(static_id, 3, "i") is ErrorCode.UNKNOWN_MEMBER_ID
