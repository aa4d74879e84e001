"""Timers fire in order, once, and not after they were cancelled."""

from hypothesis import given
from hypothesis import strategies as st

from broker.timers import TimerCallback, Timers


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
