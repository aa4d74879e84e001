"""Requests that take turns, without an event loop: the test calls what they schedule."""

import gc
import weakref
from collections.abc import Callable
from contextvars import Context, copy_context

import pytest

from broker.dispatch.turns import REST_FACTOR, STARTED_MAX, TURN_NS, Turns
from broker.pending_response import PendingResponse
from broker.responses import DispatchResult, PendingFrame
from protocol.pacing import paced

STEPS = 10


class Loop:
    """An event loop of scheduled calls, and a clock on which a step of work takes half a turn."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.turns = Turns(1 << 20, lambda: self.now_ns)
        self.turns.call_later = self.call_later
        self.scheduled: list[Callable[[], None]] = []
        self.delays_s: list[float] = []
        self.done: list[str] = []

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None:
        self.delays_s.append(delay_s)
        self.scheduled.append(callback)

    def run_once(self) -> None:
        self.scheduled.pop(0)()

    def run(self) -> int:
        """Run what is scheduled; return how many calls it was."""
        count = 0
        while self.scheduled:
            self.run_once()
            count += 1
        return count

    def work(self, name: str, steps: int = STEPS) -> Callable[[], bytes]:
        def respond() -> bytes:
            for _ in paced(range(steps)):
                self.now_ns += TURN_NS // 2
                self.done.append(name)
            return name.encode()

        return respond


def response_of(result: DispatchResult) -> list[object]:
    """Return a list that gets the response when it arrives."""
    assert isinstance(result, PendingFrame)
    found: list[object] = []
    result.pending.attach(lambda response: found.append(result.encode(response)))
    return found


def test_a_short_request_is_answered_at_once() -> None:
    loop = Loop()
    assert loop.turns.run(loop.work("a", 2), is_long=False) == b"a"
    assert not loop.scheduled


def test_a_long_request_returns_control_after_each_turn() -> None:
    loop = Loop()
    found = response_of(loop.turns.run(loop.work("a"), is_long=True))
    assert loop.done == ["a"] * 2
    loop.run_once()
    assert loop.done == ["a"] * 4
    assert found == []
    loop.run()
    assert loop.done == ["a"] * STEPS
    assert found == [b"a"]


def test_without_an_event_loop_a_request_runs_in_one_go() -> None:
    loop = Loop()
    loop.turns.call_later = None
    assert loop.turns.run(loop.work("a"), is_long=True) == b"a"


def test_others_are_served_between_two_turns_and_long_ones_wait_for_the_first() -> None:
    loop = Loop()
    first = response_of(loop.turns.run(loop.work("a"), is_long=True))
    second = response_of(loop.turns.run(loop.work("b"), is_long=True))
    assert loop.turns.run(loop.work("c", 1), is_long=False) == b"c"
    assert "b" not in loop.done
    loop.run()
    assert loop.done == ["a"] * 2 + ["c"] + ["a"] * (STEPS - 2) + ["b"] * STEPS
    assert (first, second) == ([b"a"], [b"b"])


def test_a_request_rests_while_other_connections_send() -> None:
    loop = Loop()
    response_of(loop.turns.run(loop.work("a"), is_long=True))
    loop.run_once()
    assert loop.delays_s == [0, 0]
    loop.turns.read_count += 1
    loop.run_once()
    assert loop.delays_s[-1] == pytest.approx(TURN_NS * REST_FACTOR / 1e9)
    loop.run_once()
    assert loop.delays_s[-1] == 0


def test_new_requests_wait_before_they_begin_when_many_are_between_two_turns() -> None:
    loop = Loop()
    for number in range(STARTED_MAX + 1):
        response_of(loop.turns.run(loop.work(str(number)), is_long=False))
    assert str(STARTED_MAX - 1) in loop.done
    assert str(STARTED_MAX) not in loop.done
    loop.run()
    assert loop.done.count(str(STARTED_MAX)) == STEPS


def test_a_request_of_a_lost_client_begins_no_more_but_one_that_has_begun_is_carried_out() -> None:
    loop = Loop()
    first = loop.turns.run(loop.work("a"), is_long=True)
    second = loop.turns.run(loop.work("b"), is_long=True)
    for result in (first, second):
        response_of(result)
        assert isinstance(result, PendingFrame)
        result.pending.cancel()
    loop.run()
    assert loop.done == ["a"] * STEPS
    assert len(loop.turns) == 0


def test_a_handler_that_waits_for_more_completes_the_request_later() -> None:
    loop = Loop()
    cancelled: list[int] = []
    inner = PendingResponse(on_cancel=lambda: cancelled.append(1))

    def respond() -> DispatchResult:
        loop.work("a")()
        return PendingFrame(inner, lambda response: bytes([response]))

    result = loop.turns.run(respond, is_long=True)
    found = response_of(result)
    loop.run()
    assert found == []
    inner.complete(7)
    assert found == [b"\x07"]


def test_a_cancelled_request_cancels_what_its_handler_waits_for() -> None:
    loop = Loop()
    cancelled: list[int] = []
    inner = PendingResponse(on_cancel=lambda: cancelled.append(1))

    def respond() -> DispatchResult:
        loop.work("a")()
        return PendingFrame(inner, lambda response: response)

    result = loop.turns.run(respond, is_long=True)
    response_of(result)
    assert isinstance(result, PendingFrame)
    result.pending.cancel()
    loop.run()
    assert cancelled == [1]


def test_a_stop_carries_out_all_requests_and_a_reset_none() -> None:
    loop = Loop()
    found = [response_of(loop.turns.run(loop.work(name), is_long=True)) for name in "ab"]
    loop.turns.finish_all()
    assert found == [[b"a"], [b"b"]]
    assert loop.done.count("b") == STEPS

    loop.done.clear()
    found = [response_of(loop.turns.run(loop.work(name), is_long=True)) for name in "ab"]
    loop.turns.clear()
    loop.run()
    assert loop.done == ["a"] * 2
    assert found == [[], [None]]
    assert loop.turns.run(loop.work("c", 1), is_long=False) == b"c"


def test_a_request_inside_of_another_runs_in_the_turns_of_that_one() -> None:
    loop = Loop()

    def outer() -> bytes:
        loop.turns.run_work(lambda: loop.done.append(str(loop.work("b")())))
        return b"a"

    found = response_of(loop.turns.run(outer, is_long=True))
    loop.run()
    assert found == [b"a"]
    assert loop.done.count("b") == STEPS


def test_the_time_that_a_request_waits_for_its_turn_is_known() -> None:
    loop = Loop()
    waited: list[int] = []

    def respond() -> bytes:
        loop.work("a", 3)()
        waited.append(loop.turns.waited_ns)
        assert loop.turns.is_long
        return b""

    response_of(loop.turns.run(respond, is_long=True))
    loop.now_ns += 5 * TURN_NS
    loop.run()
    assert waited == [5 * TURN_NS]
    assert loop.turns.waited_ns == 0


def test_a_callback_that_a_request_schedules_has_no_turn() -> None:
    """An event loop calls it in a copy of the context of the request."""
    loop = Loop()
    contexts: list[Context] = []

    def respond() -> bytes:
        contexts.append(copy_context())
        return b""

    assert loop.turns.run(respond, is_long=False) == b""
    loop.now_ns += TURN_NS
    contexts[0].run(loop.work("timer"))
    assert loop.done == ["timer"] * STEPS


def test_work_that_fails_in_a_later_turn_does_not_hold_up_the_others() -> None:
    loop = Loop()

    def fail() -> None:
        loop.work("a")()
        raise ValueError("a bug")

    loop.turns.run_work(fail)
    second = response_of(loop.turns.run(loop.work("b"), is_long=True))
    with pytest.raises(ValueError, match="a bug"):
        loop.run()
    loop.run()
    assert second == [b"b"]
    assert len(loop.turns) == 0


def test_an_idle_worker_does_not_hold_its_last_request() -> None:
    loop = Loop()

    class Frame:
        pass

    frame = Frame()
    reference = weakref.ref(frame)

    def respond(frame: Frame = frame) -> bytes:
        assert frame is not None
        return b""

    assert loop.turns.run(respond, is_long=False) == b""
    del respond, frame
    gc.collect()
    assert reference() is None


def test_a_closed_broker_is_freed() -> None:
    loop = Loop()
    loop.turns.run(loop.work("a", 1), is_long=False)
    waiting = response_of(loop.turns.run(loop.work("b"), is_long=True))
    loop.turns.close()
    assert waiting == [b"b"]
    turns = weakref.ref(loop.turns)
    del loop
    gc.collect()
    assert turns() is None
