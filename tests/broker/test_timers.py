"""Timers fire in order, once, and not after they were cancelled; idle periods can be skipped."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.timers import DueTask, PeriodicTask, SteppedWork, TimerCallback, Timers


def test_equal_times_fire_in_the_order_they_were_scheduled() -> None:
    timers, fired = Timers(), list[str]()

    def firing(name: str) -> TimerCallback:
        return lambda _now_ms: fired.append(name)

    for name in "abc":
        timers.schedule(5, firing(name))

    assert timers.run_due(4) == 0
    assert timers.run_due(5) == 3
    assert fired == ["a", "b", "c"]


def test_a_timer_scheduled_by_a_timer_fires_in_the_same_call_when_it_is_due() -> None:
    timers, fired = Timers(), list[int]()

    def again(now_ms: int) -> None:
        timers.schedule(now_ms, fired.append)

    timers.schedule(1, again)

    timers.run_due(10)

    assert fired == [10]


def test_on_earlier_is_called_only_for_a_timer_before_all_others() -> None:
    timers, alarms = Timers(), list[int]()
    timers.on_earlier = alarms.append
    for due_ms in (10, 20, 5):
        timers.schedule(due_ms, lambda _now_ms: None)

    assert alarms == [10, 5]


def test_cancelled_timers_do_not_grow_the_heap() -> None:
    timers = Timers()
    for due_ms in range(10_000):
        timers.cancel(timers.schedule(due_ms, lambda _now_ms: None))

    assert len(timers) == 0
    assert len(timers._heap) < 200


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans())), st.integers(0, 60))
def test_due_timers_fire_earliest_first_unless_cancelled(
    plan: list[tuple[int, bool]], now_ms: int
) -> None:
    timers, fired = Timers(), list[tuple[int, int]]()

    def firing(entry: tuple[int, int]) -> TimerCallback:
        return lambda _now_ms: fired.append(entry)

    for number, (due_ms, is_cancelled) in enumerate(plan):
        timer = timers.schedule(due_ms, firing((due_ms, number)))
        if is_cancelled:
            timers.cancel(timer)

    timers.run_due(now_ms)

    expected = [
        (due, n) for n, (due, is_cancelled) in enumerate(plan) if due <= now_ms and not is_cancelled
    ]
    assert fired == sorted(expected)
    left = [due for due, is_cancelled in plan if due > now_ms and not is_cancelled]
    assert timers.next_due_ms() == min(left, default=None)


def test_cleared_timers_never_fire_and_new_ones_do() -> None:
    timers, fired = Timers(), list[int]()
    old = timers.schedule(1, fired.append)
    timers.cancel(timers.schedule(2, fired.append))
    timers.clear()
    assert (len(timers), timers.next_due_ms()) == (0, None)
    timers.cancel(old)
    timers.schedule(3, fired.append)
    assert len(timers) == 1
    timers.run_due(5)
    assert fired == [5]


def test_calls_share_a_timer_and_those_they_schedule_come_later() -> None:
    timers, called = Timers(), list[Any]()

    def call(now_ms: int) -> None:
        called.append(("first", now_ms))
        timers.call_soon(now_ms, lambda now_ms: called.append(("later", now_ms)))

    timers.call_soon(5, call)
    timers.call_soon(5, lambda now_ms: called.append(("second", now_ms)))
    assert (len(timers), timers.next_due_ms()) == (1, 5)

    assert timers.run_due(7) == 2
    assert called == [("first", 7), ("second", 7), ("later", 7)]
    assert not timers.soon_calls


def test_a_call_that_fails_does_not_stop_the_others() -> None:
    timers, called = Timers(), list[int]()
    planned: list[None] = []
    timers.on_soon = lambda: planned.append(None)
    timers.call_soon(5, lambda _now_ms: called[0])  # type: ignore[arg-type]
    timers.call_soon(5, called.append)
    assert (len(planned), timers.next_due_ms()) == (1, None)

    with pytest.raises(IndexError):
        timers.run_soon(6)
    assert (len(planned), called) == (2, [])
    timers.run_soon(7)
    assert called == [7]
    timers.call_soon(8, called.append)
    timers.clear()
    timers.run_soon(9)
    assert called == [7]


# Periodic tasks ------------------------------------------------------------------------------


class Chores:
    """Periodic tasks and single timers that give work to the tasks; `done` is what they did."""

    def __init__(self, tasks: list[tuple[int, int]], plan: list[tuple[int, int, int, int]]) -> None:
        """`tasks` are intervals and first times; `plan` is `(time, task, due, turns)` of work."""
        self.timers = Timers()
        self.done: list[Any] = []
        self.runs = 0
        self._given: list[list[tuple[int, int]]] = [[] for _ in tasks]
        for number, (interval_ms, first_ms) in enumerate(tasks):
            task = PeriodicTask(
                self.timers,
                interval_ms,
                partial(self._run, number),
                partial(self._next_work_ms, number),
            )
            task.start(first_ms)
        for time_ms, number, due_ms, turns in plan:
            self.timers.schedule(time_ms, partial(self._give, number % len(tasks), due_ms, turns))

    def _give(self, number: int, due_ms: int, turns: int, now_ms: int) -> None:
        self.done.append(("given", number, now_ms))
        self._given[number].append((now_ms + due_ms, turns))

    def _next_work_ms(self, number: int) -> int | None:
        return min((due_ms for due_ms, _turns in self._given[number]), default=None)

    def _run(self, number: int, now_ms: int) -> Iterator[None]:
        self.runs += 1
        due = [work for work in self._given[number] if work[0] <= now_ms]
        for due_ms, turns in due:
            for turn in range(turns):
                if turn:
                    yield
                self.done.append((number, turn, due_ms, self.timers.latest_ms))
            self._given[number].remove((due_ms, turns))
            if turns > 1:  # what is done may be work for another task
                self._give((number + 1) % len(self._given), 5, turns - 1, now_ms)

    def advance(self, until_ms: int, *, skips: bool) -> None:
        """Run everything until then, with or without the periods that have nothing to do."""
        if skips:
            self.timers.skip_idle(until_ms)
        while (due_ms := self.timers.next_due_ms()) is not None and due_ms <= until_ms:
            self.timers.run_due(due_ms)
            if skips:
                self.timers.skip_idle(until_ms)


TIME_MS = st.integers(0, 60)


@given(
    st.lists(st.tuples(st.integers(1, 9), TIME_MS), min_size=1, max_size=4),
    st.lists(st.tuples(TIME_MS, st.integers(0, 3), TIME_MS, st.integers(0, 3)), max_size=5),
    st.lists(TIME_MS, min_size=1, max_size=4),
)
def test_what_a_clock_does_that_skips_idle_periods_is_what_it_does_without(
    tasks: list[tuple[int, int]], plan: list[tuple[int, int, int, int]], spans: list[int]
) -> None:
    skipping, stepping = Chores(tasks, plan), Chores(tasks, plan)
    now_ms = 0
    for span_ms in spans:
        now_ms += span_ms
        skipping.advance(now_ms, skips=True)
        stepping.advance(now_ms, skips=False)
        assert skipping.done == stepping.done
        # Both go on alike: the next periods are the same, and in the same order.
        order = [
            [(due_ms, task.interval_ms) for due_ms, _, task in waiting_in_order(chores.timers)]
            for chores in (skipping, stepping)
        ]
        assert order[0] == order[1]
    assert skipping.runs <= stepping.runs


def waiting_in_order(timers: Timers) -> list[tuple[int, int, PeriodicTask]]:
    waiting = timers.waiting_tasks.items()
    return sorted((timer.due_ms, number, task) for number, (timer, task) in enumerate(waiting))


def test_a_year_of_idle_periods_is_skipped_at_once() -> None:
    chores = Chores([(10_000, 0), (300_000, 30_000)], [(5_000, 1, 86_400_000, 1)])
    chores.advance(365 * 86_400_000, skips=True)

    # Work for a task that nobody else has: it begins with the first period after it is due.
    assert [line for line in chores.done if line[0] == 1] == [
        (1, 0, 86_405_000, 86_430_000),
    ]
    assert chores.runs == 2  # the other task is due at that time too


def test_a_task_keeps_its_rate_when_it_runs_late_or_has_many_turns() -> None:
    timers, begun = Timers(), list[int]()

    def run(now_ms: int) -> Iterator[None]:
        begun.append(now_ms)
        yield from [None] * 3

    task = PeriodicTask(timers, 10, run, lambda: 0)
    task.start(5)
    for now_ms in (7, 8, 9, 10, 14, 15, 38, 39, 40, 41, 45):
        timers.run_due(now_ms)

    assert begun == [7, 15, 45]


def test_a_task_that_fails_goes_on_in_the_next_period() -> None:
    timers, begun = Timers(), list[int]()

    def run(now_ms: int) -> Iterator[None]:
        begun.append(now_ms)
        yield from [None] * (1 // 0)

    PeriodicTask(timers, 10, run, lambda: 0).start(5)
    for now_ms in (5, 15):
        with pytest.raises(ZeroDivisionError):
            timers.run_due(now_ms)

    assert begun == [5, 15]


def test_a_stopped_task_runs_no_more_and_can_be_started_again() -> None:
    timers, begun = Timers(), list[int]()

    def run(now_ms: int) -> Iterator[None]:
        begun.append(now_ms)
        yield

    task = PeriodicTask(timers, 10, run, lambda: 0)
    task.start(5)
    task.start(1)
    timers.run_due(5)
    task.stop()  # with a turn left
    assert (len(timers), timers.waiting_tasks) == (0, {})
    task.start(7)
    task.stop()
    task.start(8)
    timers.run_due(9)
    timers.run_due(10)

    assert begun == [5, 9]
    assert timers.next_due_ms() == 18


def test_a_timeout_does_not_begin_before_what_is_done_already() -> None:
    timers = Timers()
    assert timers.deadline_ms(100, 10) == 110
    assert timers.deadline_ms(40, 10) == 110
    timers.run_due(200)
    assert timers.deadline_ms(100, 10) == 210


def test_timeouts_begin_earlier_after_the_clock_has_gone_back_with_all_state() -> None:
    timers = Timers()
    timers.run_due(90 * 86_400_000)
    timers.clear()
    assert timers.deadline_ms(100, 10) == 110


def test_steps_are_a_millisecond_apart_and_planned_once() -> None:
    timers, done_ms = Timers(), []

    def step(now_ms: int) -> bool:
        done_ms.append(now_ms)
        return len(done_ms) < 3

    work = SteppedWork(timers, step)
    work.plan(0)
    work.plan(0)
    assert not done_ms
    for now_ms in range(10):
        timers.run_due(now_ms)
    assert done_ms == [1, 2, 3]

    work.plan(20)
    work.stop()
    timers.run_due(30)
    assert done_ms == [1, 2, 3]


def test_work_of_an_iterable_does_its_first_step_at_once() -> None:
    timers, done = Timers(), []
    work = SteppedWork.of(timers, (done.append(number) for number in range(3)))  # type: ignore[func-returns-value]

    work.go_on(0)
    assert done == [0]
    timers.run_due(1)
    assert done == [0, 1]
    timers.run_due(5)
    assert done == [0, 1, 2]


def test_work_whose_step_fails_goes_on_when_it_is_planned_again() -> None:
    timers, calls = Timers(), []

    def step(now_ms: int) -> bool:
        calls.append(now_ms)
        if len(calls) == 1:
            raise ValueError("once")
        return False

    work = SteppedWork(timers, step)
    with pytest.raises(ValueError, match="once"):
        work.go_on(0)
    timers.run_due(5)
    assert calls == [0]
    work.plan(5)
    timers.run_due(6)
    assert calls == [0, 6]


@pytest.mark.parametrize("skips", [True, False])
def test_work_that_is_due_at_its_time_runs_then_and_not_in_the_next_period(skips: bool) -> None:
    timers, done, work = Timers(), list[int](), [1_003, 1_004, 5_000, 90_001]

    def run(now_ms: int) -> Iterable[None]:
        while work and work[0] <= now_ms:
            done.append(work.pop(0))
            assert done[-1] == now_ms
        return ()

    DueTask(timers, 1_000, run, lambda: work[0] if work else None).start(1_000)
    while timers.latest_ms < 100_000:
        if skips:
            timers.skip_idle(100_000)
        due_ms = timers.next_due_ms()
        assert due_ms is not None
        timers.run_due(due_ms)

    assert done == [1_003, 1_004, 5_000, 90_001]


def test_timers_are_idle_while_only_periods_without_work_are_left() -> None:
    timers = Timers()
    work_ms: list[int | None] = [None]
    task = PeriodicTask(timers, 100, lambda _now_ms: (), lambda: work_ms[0])
    assert timers.is_idle
    task.start(100)
    assert timers.is_idle
    work_ms[0] = 500
    assert not timers.is_idle
    work_ms[0] = None
    timer = timers.schedule(200, lambda _now_ms: None)
    assert not timers.is_idle
    timers.cancel(timer)
    timers.call_soon(0, lambda _now_ms: None)
    assert not timers.is_idle
