"""The controller's queue: first in, first out, on the broker's clock."""

from typing import Any

import pytest
from greenlet import GreenletExit
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.controller_queue import (
    SAMPLES_MAX,
    ControllerEvent,
    ControllerQueue,
    is_over,
)
from broker.pending_response import PendingResponse
from broker.timers import Timers


class Bench:
    """A queue, and the names of the events that were applied with the times."""

    def __init__(self, mutation_time_ms: float) -> None:
        self.timers = Timers()
        self.queue = ControllerQueue(self.timers, round(mutation_time_ms * 1000))
        self.applied: list[tuple[str, int]] = []

    def submit(self, name: str, mutations: int, now_ms: int) -> None:
        def apply(now_ms: int) -> None:
            self.applied.append((name, now_ms))

        self.queue.submit(ControllerEvent(name, apply, lambda: mutations), now_ms)

    def request(self, now_ms: int, timeout_ms: int, mutations: int) -> Any:
        return self.queue.submit_request(
            "request",
            now_ms,
            timeout_ms,
            mutation_count=lambda: mutations,
            finish=lambda now_ms: ("done", now_ms),
            timed_out=lambda now_ms: ("timed out", now_ms),
        )

    def advance(self, target_ms: int) -> None:
        """Run every timer at its due time, like a clock that is advanced."""
        while (due_ms := self.timers.next_due_ms()) is not None and due_ms <= target_ms:
            self.timers.run_due(due_ms)

    def metrics(self) -> dict[tuple[str, str], float]:
        return {
            (measurement.name, measurement.tags.get("quantile", "")): measurement.value
            for measurement in self.queue.measurements(0)
        }


def test_without_a_mutation_time_events_are_processed_at_once_without_a_timer() -> None:
    bench = Bench(0)
    bench.submit("create", 20_000, 5)

    assert bench.applied == [("create", 5)]
    assert bench.request(5, 0, 20_000) == ("done", 5)
    assert (len(bench.timers), len(bench.queue)) == (0, 0)
    assert bench.metrics() == {("EventQueueSize", ""): 0}


def test_an_election_waits_for_the_mutations_before_it_and_for_none_after_it() -> None:
    bench = Bench(6)
    bench.submit("create", 200, 0)
    bench.submit("election", 0, 100)
    bench.submit("delete", 100, 100)

    bench.advance(1199)
    assert bench.applied == []
    bench.advance(10_000)
    assert bench.applied == [("create", 1200), ("election", 1200), ("delete", 1800)]


def test_an_election_is_processed_at_once_if_the_queue_is_empty() -> None:
    bench = Bench(6)
    bench.submit("election", 0, 7)
    assert bench.applied == [("election", 7)]


def test_a_fraction_of_a_millisecond_adds_up() -> None:
    bench = Bench(0.3)
    for number in range(10):
        bench.submit(str(number), 1, 0)
    bench.advance(100)

    assert [now_ms for _, now_ms in bench.applied] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 3]


@given(
    arrivals=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 40)), min_size=1, max_size=30),
    mutation_time_ms=st.sampled_from((0.001, 0.25, 1, 6, 7.5)),
    clock_step_ms=st.integers(1, 400),
)
def test_events_keep_their_order_and_processing_times_add_up(
    arrivals: list[tuple[int, int]], mutation_time_ms: float, clock_step_ms: int
) -> None:
    bench = Bench(mutation_time_ms)
    now_ms, free_at_us, expected = 0, 0, []
    for number, (pause_ms, mutations) in enumerate(arrivals):
        now_ms += pause_ms
        bench.advance(now_ms)
        bench.submit(str(number), mutations, now_ms)
        cost_us = round(mutations * mutation_time_ms * 1000)
        free_at_us = max(free_at_us, now_ms * 1000) + cost_us
        expected.append((str(number), -(-free_at_us // 1000)))
    while len(bench.timers):
        now_ms += clock_step_ms
        bench.advance(now_ms)

    assert bench.applied == expected
    assert len(bench.queue) == 0


@given(st.lists(st.integers(0, 40), min_size=1, max_size=20), st.integers(1, 5000))
def test_a_late_timer_does_not_delay_later_events(mutations: list[int], late_ms: int) -> None:
    bench = Bench(6)
    for mutation in mutations:
        bench.submit("event", mutation, 0)
    bench.timers.run_due(late_ms)
    bench.advance(1_000_000)

    done_ms, expected = 0, []
    for mutation in mutations:
        done_ms += 6 * mutation
        expected.append(max(done_ms, late_ms if done_ms else 0))
    assert [now_ms for _, now_ms in bench.applied] == expected


def test_a_new_mutation_time_applies_from_the_next_event() -> None:
    bench = Bench(10)
    for name in "abc":
        bench.submit(name, 10, 0)
    bench.queue.mutation_time_us = 0
    assert not bench.queue.is_immediate
    bench.submit("election", 0, 50)
    bench.advance(99)
    assert bench.applied == []

    bench.advance(100)
    assert bench.applied == [(name, 100) for name in ("a", "b", "c", "election")]
    assert bench.queue.is_immediate


def test_events_submitted_by_an_event_run_after_waiting_ones() -> None:
    bench = Bench(1)

    def apply(now_ms: int) -> None:
        bench.submit("inner", 0, now_ms)
        bench.applied.append(("outer", now_ms))

    bench.queue.submit(ControllerEvent("outer", apply, lambda: 1), 0)
    bench.submit("waiting", 1, 0)
    bench.advance(10)

    assert bench.applied == [("outer", 1), ("waiting", 2), ("inner", 2)]


def test_an_exception_in_an_event_does_not_stop_later_events() -> None:
    bench = Bench(1)

    def fail(_now_ms: int) -> None:
        raise ZeroDivisionError

    bench.queue.submit(ControllerEvent("bad", fail, lambda: 1), 0)
    bench.submit("good", 1, 0)
    with pytest.raises(ZeroDivisionError):
        bench.advance(1)
    bench.advance(2)

    assert bench.applied == [("good", 2)]


def attach(pending: Any) -> list[Any]:
    """Return the list of responses of a waiting request; it fills in time."""
    assert isinstance(pending, PendingResponse)
    responses: list[Any] = []
    pending.attach(responses.append)
    return responses


def test_a_request_gets_its_response_when_its_event_is_applied() -> None:
    bench = Bench(2)
    responses = attach(bench.request(0, 1000, 50))
    bench.advance(99)
    assert responses == []
    bench.advance(5000)
    assert responses == [("done", 100)]
    assert len(bench.timers) == 0


def test_a_request_without_mutations_gets_its_response_at_once() -> None:
    assert Bench(2).request(3, 1000, 0) == ("done", 3)


@pytest.mark.parametrize(("timeout_ms", "at_ms"), [(99, 99), (1, 1)])
def test_a_request_that_times_out_stays_in_the_queue(timeout_ms: int, at_ms: int) -> None:
    bench = Bench(2)
    responses = attach(bench.request(0, timeout_ms, 50))
    bench.submit("election", 0, 0)
    bench.advance(5000)

    assert responses == [("timed out", at_ms)]
    assert bench.applied == [("election", 100)]


def test_a_request_with_timeout_0_times_out_at_once_and_stays_in_the_queue() -> None:
    bench = Bench(2)
    assert bench.request(5, 0, 50) == ("timed out", 5)
    assert [event.name for event in bench.queue] == ["request"]


def test_a_disconnect_cancels_the_timeout_but_not_the_event() -> None:
    bench = Bench(2)
    pending = bench.request(0, 50, 50)
    responses = attach(pending)
    pending.cancel()
    bench.submit("election", 0, 0)
    bench.advance(5000)

    assert responses == []
    assert bench.applied == [("election", 100)]


def test_a_broker_that_stops_responds_with_request_timed_out() -> None:
    bench = Bench(2)
    pending = bench.request(0, 5000, 50)
    responses = attach(pending)
    pending.force_complete(10)
    bench.advance(10_000)
    assert responses == [("timed out", 10)]


def test_an_event_that_takes_turns_ends_before_the_next_begins() -> None:
    waiting: list[Any] = []
    timers = Timers()
    queue = ControllerQueue(timers, 1, waiting.append)
    applied: list[str] = []
    for name in ("a", "b"):

        def apply(_now_ms: int, name: str = name) -> None:
            applied.append(name)

        queue.submit(ControllerEvent(name, apply, lambda: 10), 0)
    timers.run_due(10)
    timers.run_due(100)
    assert (applied, len(queue), len(waiting)) == ([], 2, 1)

    waiting.pop()()
    timers.run_due(100)
    assert (applied, len(queue), len(waiting)) == (["a"], 1, 1)


def test_a_reset_in_the_middle_of_an_event_begins_no_other() -> None:
    timers = Timers()
    queue = ControllerQueue(timers, 1)

    def end(_now_ms: int) -> None:
        timers.clear()
        raise GreenletExit

    queue.submit(ControllerEvent("a", end, lambda: 10), 0)
    queue.submit(ControllerEvent("b", lambda _now_ms: None, lambda: 10), 0)
    with pytest.raises(GreenletExit):
        timers.run_due(10)
    assert timers.next_due_ms() is None


def test_the_metrics_have_the_queue_size_and_times_of_recent_events() -> None:
    bench = Bench(1)
    for _ in range(SAMPLES_MAX):
        bench.submit("small", 0, 0)
    bench.submit("large", 300, 0)
    bench.submit("election", 0, 100)
    assert bench.metrics()["EventQueueSize", ""] == 2
    assert bench.queue.remaining_ms(100) == 200

    bench.advance(300)
    metrics = bench.metrics()
    assert metrics["EventQueueSize", ""] == bench.queue.remaining_ms(300) == 0
    assert metrics["EventQueueTimeMs", "1.0"] == 200
    assert metrics["EventQueueProcessingTimeMs", "1.0"] == 300
    assert metrics["EventQueueTimeMs", "0.5"] == metrics["EventQueueProcessingTimeMs", "0.99"] == 0


def test_remaining_time_includes_waiting_events() -> None:
    bench = Bench(2)
    bench.submit("a", 50, 0)
    bench.submit("b", 25, 0)
    assert [bench.queue.remaining_ms(now_ms) for now_ms in (0, 40)] == [150, 110]


@pytest.mark.parametrize(("timeout_ms", "expected"), [(-1, True), (0, True), (1, False)])
def test_a_timeout_that_is_not_positive_is_over(timeout_ms: int, *, expected: bool) -> None:
    assert is_over(timeout_ms) == expected
