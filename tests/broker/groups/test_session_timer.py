"""A session expires exactly at the deadline of its last restart."""

from hypothesis import given
from hypothesis import strategies as st

from broker.groups.session_timer import SessionTimer
from broker.timers import Timers


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 50)), min_size=1))
def test_a_session_ends_once_at_the_deadline_of_the_last_restart(
    restarts: list[tuple[int, int]],
) -> None:
    timers, now_ms = Timers(), 0
    ended: list[int] = []
    due_ms: int | None = None
    session = SessionTimer(timers, ended.append)
    expected = []
    for wait_ms, timeout_ms in restarts:
        for tick_ms in range(now_ms, now_ms + wait_ms + 1):
            timers.run_due(tick_ms)
            if due_ms is not None and due_ms <= tick_ms:
                expected.append(due_ms)
                due_ms = None
        now_ms += wait_ms
        session.restart(now_ms, timeout_ms)
        due_ms = now_ms + timeout_ms
    for tick_ms in range(now_ms, now_ms + 60):
        timers.run_due(tick_ms)

    assert ended == [*expected, due_ms]
    assert timers.next_due_ms() is None


def test_a_request_that_has_waited_ends_no_session_early() -> None:
    timers = Timers()
    ended: list[int] = []
    session = SessionTimer(timers, ended.append)
    timers.run_due(1_600)

    session.restart(0, 1_000)  # of a request that was read at 0

    timers.run_due(2_599)
    assert ended == []
    timers.run_due(2_600)
    assert ended == [2_600]


def test_sessions_expire_in_the_order_of_their_deadlines_when_the_clock_jumps() -> None:
    timers, ended = Timers(), []
    restarted = SessionTimer(timers, lambda _now_ms: ended.append("restarted"))
    silent = SessionTimer(timers, lambda _now_ms: ended.append("silent"))
    restarted.restart(0, 10)
    silent.restart(0, 50)
    restarted.restart(5, 90)

    timers.run_due(1000)

    assert ended == ["silent", "restarted"]


def test_a_stopped_session_does_not_end() -> None:
    timers = Timers()
    ended: list[int] = []
    session = SessionTimer(timers, ended.append)
    session.restart(0, 10)
    session.restart(5, 10)

    session.stop()
    timers.run_due(100)

    assert (ended, len(timers)) == ([], 0)


def test_a_thousand_heartbeats_leave_one_timer() -> None:
    timers = Timers()
    session = SessionTimer(timers, lambda _now_ms: None)
    for now_ms in range(1000):
        session.restart(now_ms, 10_000)

    assert len(timers._heap) == 1
