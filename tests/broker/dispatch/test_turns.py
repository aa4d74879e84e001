"""Requests that take turns, without an event loop: the test calls what they schedule."""

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from contextvars import Context, copy_context

import pytest

from broker.dispatch.turn_queue import STARTED_MAX, TurnKind
from broker.dispatch.turns import (
    FIRST_TURNS_MAX,
    OTHERS_CPU_FACTOR,
    OTHERS_TIME_FACTOR,
    PATIENCE_S,
    TURN_NS,
    Turns,
)
from broker.pending_response import PendingResponse
from broker.responses import DispatchResult, PendingFrame
from protocol.pacing import PauseError, no_pause, paced

STEPS = 10
HEAVY_MAX = STARTED_MAX[TurnKind.HEAVY]
LIGHT_MAX = STARTED_MAX[TurnKind.LIGHT]
KIB = 1024

loops: list["Loop"] = []
"""Those of the running test."""


class Loop:
    """An event loop of scheduled calls, and a clock on which a step of work takes half a turn."""

    def __init__(self, queued_bytes_max: int = -1) -> None:
        self.now_ns = self.cpu_ns = 0
        self.turns = Turns(1 << 20, lambda: self.now_ns, queued_bytes_max, lambda: self.cpu_ns)
        self.turns.call_later = self.call_later
        self.scheduled: list[Callable[[], None]] = []
        self.delays_s: list[float] = []
        self.done: list[str] = []
        loops.append(self)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None:
        self.delays_s.append(delay_s)
        self.scheduled.append(callback)

    def run_once(self) -> None:
        self.scheduled.pop(0)()

    def run_iteration(self, cpu_ns: int = 0, wall_ns: int = 0, reads: int = 0) -> None:
        """Serve others, who read and use CPU in some time, and then do what is scheduled."""
        self.turns.read_count += reads
        self.cpu_ns += cpu_ns
        self.now_ns += wall_ns
        self.run_once()

    def run(self) -> int:
        """Run what is scheduled; return how many calls it was."""
        count = 0
        while self.scheduled:
            self.run_once()
            count += 1
        return count

    def run_heavy(
        self, respond: Callable[[], DispatchResult], frame_bytes: int = KIB
    ) -> DispatchResult:
        return self.turns.run(respond, frame_bytes, TurnKind.HEAVY)

    def work(self, name: str, steps: int = STEPS) -> Callable[[], bytes]:
        def respond() -> bytes:
            for _ in paced(range(steps)):
                self.now_ns += TURN_NS // 2
                self.cpu_ns += TURN_NS // 2
                self.done.append(name)
            return name.encode()

        return respond


@pytest.fixture(autouse=True)
def no_request_stays_between_two_turns() -> Iterator[None]:
    """End the requests that a test has not carried out.

    Before Python 3.15 a greenlet that nobody resumes is never freed. From then on the garbage
    collector frees it, and reports each generator that runs in it as an error.
    """
    yield
    while loops:
        loops.pop().turns.clear()


@pytest.fixture
def arriving_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all requests begin as they arrive, as if each arrived in a separate iteration."""
    monkeypatch.setattr("broker.dispatch.turns.FIRST_TURNS_MAX", sys.maxsize)


def response_of(result: DispatchResult) -> list[object]:
    """Return a list that gets the response when it arrives."""
    assert isinstance(result, PendingFrame)
    found: list[object] = []
    result.pending.attach(lambda response: found.append(result.encode(response)))
    return found


def test_a_short_request_is_answered_at_once() -> None:
    loop = Loop()
    assert loop.turns.run(loop.work("a", 2)) == b"a"
    assert not loop.scheduled


def test_a_long_request_returns_control_after_each_turn() -> None:
    loop = Loop()
    found = response_of(loop.run_heavy(loop.work("a")))
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
    assert loop.run_heavy(loop.work("a")) == b"a"


def test_others_are_served_between_two_turns() -> None:
    loop = Loop()
    first = response_of(loop.run_heavy(loop.work("a")))
    assert loop.turns.run(loop.work("b", 1)) == b"b"
    loop.run()
    assert loop.done == ["a"] * 2 + ["b"] + ["a"] * (STEPS - 2)
    assert first == [b"a"]


def test_a_small_request_passes_large_ones_that_came_before_it() -> None:
    loop = Loop()
    large = response_of(loop.run_heavy(loop.work("large"), 16 * KIB * KIB))
    small = response_of(loop.run_heavy(loop.work("small")))
    while not small:
        loop.run_once()
    assert loop.done.count("large") == 2
    loop.run()
    assert large == [b"large"]


@pytest.mark.usefixtures("arriving_apart")
def test_a_produce_request_with_much_to_do_passes_other_requests_of_its_size() -> None:
    loop = Loop()
    for number in range(HEAVY_MAX + 1):
        response_of(loop.run_heavy(loop.work(str(number)), 64 * KIB))
    produce = response_of(loop.turns.run(loop.work("produce"), 64 * KIB))
    while not produce:
        loop.run_once()
    began = 2 * HEAVY_MAX
    assert loop.done[:began] == [str(number) for number in range(HEAVY_MAX) for _ in range(2)]
    assert loop.done.count("produce") == STEPS
    assert len(loop.done) - began - STEPS <= 2  # at most one turn of the others


@pytest.mark.usefixtures("arriving_apart")
def test_only_a_few_requests_hold_decoded_elements() -> None:
    loop = Loop()
    found = [response_of(loop.run_heavy(loop.work(str(number)))) for number in range(HEAVY_MAX + 1)]
    assert str(HEAVY_MAX - 1) in loop.done
    assert str(HEAVY_MAX) not in loop.done
    loop.run()
    assert found == [[str(number).encode()] for number in range(HEAVY_MAX + 1)]


def test_turns_are_full_while_too_many_bytes_wait() -> None:
    loop = Loop(queued_bytes_max=3 * KIB)
    room: list[int] = []
    loop.turns.on_room = lambda: room.append(len(loop.turns))
    for name in "abc":
        assert not loop.turns.is_full
        result = loop.run_heavy(loop.work(name))
    assert loop.turns.is_full
    loop.run()
    assert not loop.turns.is_full
    assert room == [2, 1, 0]
    assert isinstance(result, PendingFrame)


def test_a_lost_client_makes_room_at_once() -> None:
    loop = Loop(queued_bytes_max=(HEAVY_MAX + 1) * KIB)
    for _ in range(HEAVY_MAX + 1):
        result = loop.run_heavy(loop.work("a"))
    assert loop.turns.is_full
    assert isinstance(result, PendingFrame)
    result.pending.cancel()
    assert not loop.turns.is_full
    assert len(loop.turns) == HEAVY_MAX


def test_a_request_never_waits_while_nobody_else_reads() -> None:
    loop = Loop()
    response_of(loop.run_heavy(loop.work("a", 100)))
    loop.run()
    assert loop.done == ["a"] * 100
    assert set(loop.delays_s) == {0}


def test_after_a_request_of_others_the_next_turn_waits_for_a_further_one_once() -> None:
    loop = Loop()
    response_of(loop.run_heavy(loop.work("a")))
    loop.run_iteration(reads=1, wall_ns=TURN_NS // 10)
    assert loop.delays_s == [0, PATIENCE_S]
    assert loop.done == ["a"] * 2
    loop.run_iteration()
    assert loop.done == ["a"] * 4
    assert loop.delays_s[-1] == 0


@pytest.mark.parametrize(
    ("cpu_ns", "wall_ns", "iterations"),
    [
        (TURN_NS // 10, TURN_NS // 10, 10 * OTHERS_CPU_FACTOR),
        (TURN_NS, TURN_NS, OTHERS_CPU_FACTOR),
        (0, TURN_NS, OTHERS_TIME_FACTOR),
        (0, TURN_NS // 2, 2 * OTHERS_TIME_FACTOR),
        (TURN_NS * OTHERS_CPU_FACTOR, 0, 1),
    ],
)
def test_others_that_go_on_get_their_share_of_the_cpu_and_no_more(
    cpu_ns: int, wall_ns: int, iterations: int
) -> None:
    loop = Loop()
    found = response_of(loop.run_heavy(loop.work("a")))
    counts = []
    while not found:
        counts.append(0)
        done = len(loop.done)
        while len(loop.done) == done:
            loop.run_iteration(cpu_ns, wall_ns, reads=1)
            counts[-1] += 1
    assert counts == [iterations] * (STEPS // 2 - 1)


def test_the_share_of_others_counts_the_cpu_of_a_turn_and_not_its_duration() -> None:
    """Another process had the CPU for most of the second turn."""
    loop = Loop()

    def respond() -> bytes:
        for _ in paced(range(3)):
            loop.cpu_ns += TURN_NS // 10
            loop.now_ns += TURN_NS
            loop.done.append("a")
        return b""

    response_of(loop.run_heavy(respond))
    loop.run_once()
    done = len(loop.done)
    loop.run_iteration(cpu_ns=TURN_NS // 10 * OTHERS_CPU_FACTOR, reads=1)
    assert len(loop.done) == done + 1


def test_others_get_more_time_for_a_further_request_while_the_cpu_is_shared() -> None:
    loop = Loop()

    def respond() -> bytes:
        for _ in paced(range(4)):
            loop.cpu_ns += TURN_NS // 2
            loop.now_ns += TURN_NS
        return b""

    response_of(loop.run_heavy(respond))
    loop.run_once()
    loop.run_iteration(reads=1)
    assert loop.delays_s[-1] == pytest.approx(2 * PATIENCE_S)


def test_a_read_is_served_after_one_turn_at_most() -> None:
    """Each look at the sockets gives one turn, however many requests wait for theirs."""
    loop = Loop()
    for number in range(HEAVY_MAX):
        response_of(loop.run_heavy(loop.work(str(number))))
    while loop.scheduled:
        done = len(loop.done)
        loop.run_once()
        assert len(loop.done) - done <= 2
        assert len(loop.scheduled) <= 1


def test_ten_requests_share_the_turns_evenly() -> None:
    loop = Loop()
    names = [str(number) for number in range(10)]
    for name in names:
        response_of(loop.turns.run(loop.work(name, 100)))
    while loop.scheduled:
        counts = [loop.done.count(name) for name in names]
        assert max(counts) - min(counts) <= 4
        loop.run_once()
    assert [loop.done.count(name) for name in names] == [100] * 10


def test_a_long_request_is_carried_out_while_short_ones_arrive_without_end() -> None:
    loop = Loop()
    found = response_of(loop.turns.run(loop.work("long", 20)))
    short_count = 0
    while not found:
        loop.turns.run(loop.work("short", 4))
        loop.run_once()
        short_count += 1
        assert short_count < 150
    assert found == [b"long"]


def test_few_requests_begin_in_one_iteration_of_the_loop() -> None:
    loop = Loop()
    for number in range(2 * FIRST_TURNS_MAX):
        response_of(loop.turns.run(loop.work(str(number))))
    assert len(set(loop.done)) == FIRST_TURNS_MAX
    loop.run()
    assert len(set(loop.done)) == 2 * FIRST_TURNS_MAX


def test_an_operation_of_the_admin_port_begins_when_others_were_served() -> None:
    loop = Loop()
    found = response_of(loop.turns.run(loop.work("a", 1), kind=TurnKind.READING))
    assert loop.done == []
    loop.run()
    assert found == [b"a"]


@pytest.mark.usefixtures("arriving_apart")
def test_new_requests_wait_before_they_begin_when_many_are_between_two_turns() -> None:
    loop = Loop()
    for number in range(LIGHT_MAX + 1):
        response_of(loop.turns.run(loop.work(str(number))))
    assert str(LIGHT_MAX - 1) in loop.done
    assert str(LIGHT_MAX) not in loop.done
    loop.run()
    assert loop.done.count(str(LIGHT_MAX)) == STEPS


@pytest.mark.usefixtures("arriving_apart")
def test_a_request_of_a_lost_client_begins_no_more_but_one_that_has_begun_is_carried_out() -> None:
    loop = Loop()
    names = [str(number) for number in range(HEAVY_MAX + 1)]
    for result in [loop.run_heavy(loop.work(name)) for name in names]:
        response_of(result)
        assert isinstance(result, PendingFrame)
        result.pending.cancel()
    loop.run()
    assert [loop.done.count(name) for name in names] == [STEPS] * HEAVY_MAX + [0]
    assert len(loop.turns) == 0


def test_a_handler_that_waits_for_more_completes_the_request_later() -> None:
    loop = Loop()
    cancelled: list[int] = []
    inner = PendingResponse(on_cancel=lambda: cancelled.append(1))

    def respond() -> DispatchResult:
        loop.work("a")()
        return PendingFrame(inner, lambda response: bytes([response]))

    result = loop.run_heavy(respond)
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

    result = loop.run_heavy(respond)
    response_of(result)
    assert isinstance(result, PendingFrame)
    result.pending.cancel()
    loop.run()
    assert cancelled == [1]


@pytest.mark.usefixtures("arriving_apart")
def test_a_stop_carries_out_all_requests_and_a_reset_none() -> None:
    loop = Loop()
    names = [str(number) for number in range(HEAVY_MAX + 1)]
    found = [response_of(loop.run_heavy(loop.work(name))) for name in names]
    loop.turns.finish_all()
    assert found == [[name.encode()] for name in names]
    assert loop.done.count(names[-1]) == STEPS

    loop.done.clear()
    found = [response_of(loop.run_heavy(loop.work(name))) for name in names]
    loop.turns.clear()
    loop.run()
    assert [loop.done.count(name) for name in names] == [2] * HEAVY_MAX + [0]
    assert found == [[]] * HEAVY_MAX + [[None]]
    assert loop.turns.run(loop.work("c", 1)) == b"c"


def test_a_request_inside_of_another_runs_in_the_turns_of_that_one() -> None:
    loop = Loop()

    def outer() -> bytes:
        loop.turns.run_work(lambda: loop.done.append(str(loop.work("b")())))
        return b"a"

    found = response_of(loop.run_heavy(outer))
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

    response_of(loop.run_heavy(respond))
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

    assert loop.turns.run(respond) == b""
    loop.now_ns += TURN_NS
    contexts[0].run(loop.work("timer"))
    assert loop.done == ["timer"] * STEPS


def test_work_that_fails_in_a_later_turn_does_not_hold_up_the_others() -> None:
    loop = Loop()

    def fail() -> None:
        loop.work("a")()
        raise ValueError("a bug")

    loop.turns.run_work(fail)
    second = response_of(loop.run_heavy(loop.work("b")))
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

    assert loop.turns.run(respond) == b""
    del respond, frame
    gc.collect()
    assert reference() is None


def test_a_closed_broker_is_freed() -> None:
    loop = Loop()
    loop.turns.run(loop.work("a", 1))
    waiting = response_of(loop.run_heavy(loop.work("b")))
    loop.turns.close()
    assert waiting == [b"b"]
    turns = weakref.ref(loop.turns)
    loops.clear()
    del loop
    gc.collect()
    assert turns() is None


def test_the_end_of_a_turn_within_no_pause_is_an_error() -> None:
    loop = Loop()
    errors: list[str] = []

    def respond() -> DispatchResult:
        with no_pause():
            for _ in paced(range(1)):  # the turn has just begun
                loop.now_ns += TURN_NS
            try:
                list(paced(range(1)))
            except PauseError as error:
                errors.append(str(error))
        list(paced(range(1)))
        return b"response"

    result = loop.turns.run(respond)

    assert errors == ["a pause within no_pause()"]
    assert isinstance(result, PendingFrame)
    loop.run()
    assert loop.turns.no_pause_depth == 0
