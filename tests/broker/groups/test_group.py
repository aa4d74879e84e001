"""Rebalances, assignments and heartbeats of one group."""

from typing import Any

import pytest

from broker.groups.group import NEW_MEMBER_JOIN_TIMEOUT_MS
from broker.groups.requests import JoinRequest, MemberIdentity
from broker.groups.results import GroupState, JoinCallback, JoinResult, SyncResult
from protocol.errors import ErrorCode
from tests.broker.groups.driver import GROUP, REBALANCE_MS, SESSION_MS, Driver

# Rebalance ----------------------------------------------------------------------------------


def test_a_rebalance_ends_when_the_last_member_has_joined() -> None:
    driver = Driver()
    first_id, second_id = driver.stable("a", "b")

    newcomer = driver.join(client_id="c")
    first = driver.join(first_id)
    assert newcomer == first == []
    second = driver.join(second_id)

    assert {responses[0].generation_id for responses in (newcomer, first, second)} == {3}
    assert [len(responses[0].members) for responses in (first, second, newcomer)] == [3, 0, 0]


def test_a_member_that_does_not_join_within_the_longest_rebalance_timeout_is_removed() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a", rebalance_timeout_ms=2 * REBALANCE_MS)
    newcomer = driver.join(client_id="b")

    for _ in range(2 * REBALANCE_MS // 5_000 - 1):
        driver.advance(5_000)
        assert driver.heartbeat(leader_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert newcomer == []
    driver.advance(5_000)

    assert newcomer[0].leader_id == newcomer[0].member_id
    assert driver.heartbeat(leader_id, 2) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_timeout_of_zero_still_lets_time_pass() -> None:
    driver = Driver()
    static_id, other_id = driver.stable_static_and_dynamic()
    for member_id in (static_id, other_id):
        driver.sync(member_id, 2)
    driver.join(static_id, group_instance_id="i", rebalance_timeout_ms=0)
    driver.join(other_id, rebalance_timeout_ms=0, protocols={"range": b"x"})
    driver.sync(static_id, 3)
    driver.sync(other_id, 3)

    driver.groups.leave(GROUP, [MemberIdentity(other_id)], driver.now_ms)
    driver.advance(SESSION_MS)

    assert driver.is_empty


def test_waiting_members_get_not_coordinator_when_the_group_moves() -> None:
    driver = Driver()
    first_id, second_id = driver.stable("a", "b")
    newcomer = driver.join(client_id="c")
    first = driver.join(first_id)

    driver.groups.table.unload(GROUP, driver.now_ms)

    assert [a[0].error_code for a in (newcomer, first)] == [ErrorCode.NOT_COORDINATOR] * 2
    # The new member does not know its id yet, so nothing waits for it.
    first, second = driver.join(first_id), driver.join(second_id)
    assert [a[0].generation_id for a in (first, second)] == [3, 3]

    waiting = driver.sync(second_id, 3)
    driver.groups.table.unload(GROUP, driver.now_ms)
    assert waiting == [SyncResult(ErrorCode.NOT_COORDINATOR)]
    driver.sync(first_id, 3, {second_id: b"all"})
    assert driver.sync(second_id, 3)[0].assignment == b"all"


def test_sessions_restart_at_the_new_coordinator() -> None:
    driver = Driver()
    (member_id,) = driver.stable("a")
    driver.advance(SESSION_MS - 1)

    driver.groups.table.unload(GROUP, driver.now_ms)
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat(member_id, 1) is ErrorCode.NONE


def test_a_member_without_a_response_is_removed_when_the_group_moves() -> None:
    driver = Driver(group_initial_rebalance_delay_ms=3000)
    response = driver.join()

    driver.groups.table.unload(GROUP, driver.now_ms)
    assert response[0].error_code is ErrorCode.NOT_COORDINATOR
    driver.advance(3000)
    assert driver.is_empty


def test_the_first_rebalance_waits_for_the_delay_and_again_while_members_join() -> None:
    driver = Driver(group_initial_rebalance_delay_ms=3000)
    first = driver.join(client_id="a")
    driver.advance(2999)
    second = driver.join(client_id="b")
    driver.advance(2999)
    assert first == second == []

    driver.advance(2)

    assert first[0].generation_id == second[0].generation_id == 1
    assert len(first[0].members) == 2


def test_the_first_rebalance_waits_no_longer_than_the_rebalance_timeout() -> None:
    driver = Driver(group_initial_rebalance_delay_ms=3000)
    first = driver.join(client_id="a", rebalance_timeout_ms=7000)
    for _ in range(6):
        driver.join(client_id="b", rebalance_timeout_ms=7000)
        driver.advance(1000)
    assert first == []

    driver.advance(1000)

    assert len(first[0].members) == 7


def test_members_that_leave_during_the_first_delay_leave_an_empty_group() -> None:
    driver = Driver(group_initial_rebalance_delay_ms=3000)
    pending = driver.join(must_know_id=True)[0].member_id
    driver.join(pending)
    driver.groups.leave(GROUP, [MemberIdentity(pending)], driver.now_ms)
    assert driver.state is GroupState.PREPARING_REBALANCE

    driver.advance(3000)

    assert driver.is_empty


def test_every_member_votes_for_its_first_protocol_that_all_support() -> None:
    driver = Driver()
    first_id, second_id = driver.stable("a", "b", protocols={"r": b"", "s": b"", "x": b""})
    votes_s = {"s": b"", "r": b""}

    driver.join(client_id="c", protocols=votes_s)
    driver.join(first_id, protocols={"x": b"", "s": b"", "r": b""})
    (result,) = driver.join(second_id, protocols={"r": b"", "s": b""})

    assert result.protocol_name == "s"


def test_a_leader_that_does_not_rejoin_is_replaced_by_the_first_that_did() -> None:
    driver = Driver()
    leader_id, second_id, third_id = driver.stable("a", "b", "c")

    driver.groups.leave(GROUP, [MemberIdentity(leader_id)], driver.now_ms)
    third = driver.join(third_id)
    second = driver.join(second_id)

    assert third[0].leader_id == second[0].leader_id == second_id


def test_a_new_member_whose_client_disconnected_is_removed_after_the_new_member_timeout() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a", rebalance_timeout_ms=2 * NEW_MEMBER_JOIN_TIMEOUT_MS)
    newcomer = driver.join(client_id="b")
    driver.advance(0)
    for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5_000):
        driver.heartbeat(leader_id, 1)
        driver.advance(5_000)

    assert newcomer == [JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, "")]


def test_a_known_member_that_waits_for_others_needs_no_heartbeat() -> None:
    driver = Driver()
    leader_id, other_id = driver.stable("a", "b")
    waiting = driver.join(leader_id)

    driver.advance(SESSION_MS - 1)
    driver.heartbeat(other_id, 2)
    driver.advance(SESSION_MS - 1)
    driver.join(other_id)

    assert waiting[0].error_code is ErrorCode.NONE


# Sync ---------------------------------------------------------------------------------------


def test_followers_get_their_assignment_when_the_leader_has_sent_it() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    newcomer = driver.join(client_id="b")
    driver.join(leader_id)
    follower_id = newcomer[0].member_id

    early = driver.sync(follower_id, 2)
    assert early == []
    (leader,) = driver.sync(leader_id, 2, {leader_id: b"x", follower_id: b"y"})

    assert leader == SyncResult(ErrorCode.NONE, "consumer", "range", b"x")
    assert early == [SyncResult(ErrorCode.NONE, "consumer", "range", b"y")]
    assert driver.sync(follower_id, 2) == early
    assert driver.state is GroupState.STABLE


def test_a_member_without_an_assignment_gets_an_empty_one() -> None:
    driver = Driver()
    member_id = driver.join()[0].member_id

    assert driver.sync(member_id, 1, {"somebody": b"x"})[0].assignment == b""


def test_an_assignment_is_not_used_in_the_next_generation() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    driver.join(client_id="b")
    driver.join(leader_id)
    driver.join(leader_id, protocols={"range": b"changed"})

    assert {member.assignment for member in driver.describe().members} == {b""}


@pytest.mark.parametrize(
    ("changes", "error_code"),
    [
        ({"member_id": "made-up"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "consumer", "protocol_name": "range"}, ErrorCode.NONE),
    ],
)
def test_a_sync_with_another_protocol_or_generation_is_refused(
    changes: dict[str, Any], error_code: ErrorCode
) -> None:
    driver = Driver()
    (member_id,) = driver.stable("a")

    fields: dict[str, Any] = {"member_id": member_id, "generation_id": 1}
    (result,) = driver.sync(**(fields | changes))

    assert result.error_code is error_code


def test_a_sync_during_a_rebalance_returns_rebalance_in_progress() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    driver.join(client_id="b")

    assert driver.sync(leader_id, 1) == [SyncResult(ErrorCode.REBALANCE_IN_PROGRESS)]


def test_a_second_sync_of_a_waiting_member_replaces_the_first() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    follower_id = driver.join_and_rejoin(leader_id)
    first = driver.sync(follower_id, 2)

    second = driver.sync(follower_id, 2)

    assert (first, second) == ([SyncResult(ErrorCode.REBALANCE_IN_PROGRESS)], [])


def test_a_member_that_does_not_sync_within_the_rebalance_timeout_is_removed() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    follower_id = driver.join_and_rejoin(leader_id)
    waiting = driver.sync(follower_id, 2)

    for _ in range(REBALANCE_MS // 5_000):
        driver.advance(5_000)
        driver.heartbeat(leader_id, 2)  # alive, but it never assigns

    assert waiting == [SyncResult(ErrorCode.REBALANCE_IN_PROGRESS)]
    assert [member.member_id for member in driver.describe().members] == [follower_id]
    assert driver.state is GroupState.PREPARING_REBALANCE


def test_a_follower_that_never_syncs_is_removed_from_a_stable_group() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    follower_id = driver.join_and_rejoin(leader_id)
    driver.sync(leader_id, 2)
    assert driver.state is GroupState.STABLE

    for _ in range(REBALANCE_MS // 5_000):
        driver.advance(5_000)
        driver.heartbeat(leader_id, driver.generation_id)
        driver.heartbeat(follower_id, driver.generation_id)

    assert [member.member_id for member in driver.describe().members] == [leader_id]


def test_a_member_removed_while_it_waits_for_its_assignment_gets_an_error() -> None:
    driver = Driver()
    (leader_id,) = driver.stable("a")
    follower_id = driver.join_and_rejoin(leader_id)
    waiting = driver.sync(follower_id, 2)

    driver.groups.leave(GROUP, [MemberIdentity(follower_id)], driver.now_ms)

    assert waiting == [SyncResult(ErrorCode.UNKNOWN_MEMBER_ID)]


# Heartbeats ----------------------------------------------------------------------


def test_heartbeats_keep_a_session_and_silence_ends_it() -> None:
    driver = Driver()
    (member_id,) = driver.stable("a")
    for _ in range(5):
        driver.advance(SESSION_MS - 1)
        assert driver.heartbeat(member_id, 1) is ErrorCode.NONE
    assert driver.heartbeat(member_id, 2) is ErrorCode.ILLEGAL_GENERATION

    driver.advance(SESSION_MS - 1)
    assert driver.state is GroupState.STABLE
    driver.advance(1)

    assert driver.is_empty
    assert driver.heartbeat(member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_loss_of_a_member_rebalances_the_remaining_ones() -> None:
    driver = Driver()
    leader_id, silent_id = driver.stable("a", "b")
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(leader_id, 2)
    driver.advance(1)

    assert driver.heartbeat(leader_id, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    (result,) = driver.join(leader_id)
    assert [member.member_id for member in result.members] == [leader_id]
    assert driver.heartbeat(silent_id, 3) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_response_may_trigger_the_next_request_at_once() -> None:
    """A connection with a response may have its next request in the buffer."""
    driver = Driver()
    (leader_id,) = driver.stable("a")
    synced: list[list[SyncResult]] = []
    original = driver.groups.join

    def join_then_sync(request: JoinRequest, callback: JoinCallback, now_ms: int) -> None:
        def respond_then_sync(result: JoinResult) -> None:
            callback(result)
            synced.append(driver.sync(result.member_id, result.generation_id))

        original(request, respond_then_sync, now_ms)

    driver.groups.join = join_then_sync  # type: ignore[method-assign]
    newcomer = driver.join(client_id="b")
    driver.join(leader_id)

    assert newcomer[0].generation_id == 2
    assert [responses[0].error_code for responses in synced] == [ErrorCode.NONE] * 2
    assert driver.state is GroupState.STABLE


def test_an_empty_group_has_no_timers() -> None:
    driver = Driver()
    first_id, _ = driver.stable("a", "b")
    driver.join(must_know_id=True)
    driver.join(first_id)
    driver.advance(5 * REBALANCE_MS)
    assert driver.is_empty

    driver.groups.table.delete_group(GROUP, driver.now_ms)
    driver.advance(driver.groups.table.config["offsets.retention.check.interval.ms"])

    assert driver.timers.next_due_ms() is None
