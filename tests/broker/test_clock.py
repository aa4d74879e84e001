"""The clock runs in its mode, can be moved forward, and never goes back."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker import clock as clock_module
from broker.clock import BrokerClock, ClockMode, SystemClock

START_MS = 1_700_000_000_000


class Machine:
    """A machine whose clock is set by hand, backwards too."""

    def __init__(self) -> None:
        self.time_ms = START_MS

    def read_ms(self) -> int:
        return self.time_ms


def clock_on(machine: Machine, mode: ClockMode, factor: float = 1.0) -> BrokerClock:
    return BrokerClock(mode, factor, machine.read_ms)


def test_the_machines_time_is_in_milliseconds_since_the_epoch() -> None:
    # The machine's wall clock may have been set a little since the module took its offset.
    tolerance_ms = 1_000
    before_ms = time.time() * 1000 - tolerance_ms
    assert before_ms <= SystemClock().now_ms() <= time.time() * 1000 + tolerance_ms
    assert before_ms <= BrokerClock().now_ms() <= time.time() * 1000 + tolerance_ms


def test_a_change_of_the_wall_clock_does_not_move_the_brokers_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source_ns = 5_000_000_000
    monkeypatch.setattr(clock_module, "_read_ns", lambda: source_ns)
    monkeypatch.setattr(time, "time_ns", lambda: START_MS * 1_000_000)
    machine = SystemClock()
    monkeypatch.setattr(time, "time_ns", lambda: (START_MS - 3_600_000) * 1_000_000)
    assert machine.now_ms() == START_MS
    source_ns += 7_000_000
    assert machine.now_ms() == START_MS + 7


@pytest.mark.parametrize(
    ("mode", "factor", "passed_ms", "wait_s"),
    [
        (ClockMode.REAL, 7.0, 1000, 0.5),
        (ClockMode.SCALED, 100.0, 100_000, 0.005),
        (ClockMode.SCALED, 0.5, 500, 1.0),
        (ClockMode.STANDING, 1.0, 0, None),
    ],
)
def test_the_mode_decides_how_fast_time_passes(
    mode: ClockMode, factor: float, passed_ms: int, wait_s: float | None
) -> None:
    machine = Machine()
    clock = clock_on(machine, mode, factor)

    machine.time_ms += 1000
    assert clock.now_ms() == START_MS + passed_ms
    assert clock.wait_s(500) == wait_s
    assert clock.wait_s(0) == 0


def test_a_moved_clock_continues_from_the_new_time() -> None:
    machine = Machine()
    clock = clock_on(machine, ClockMode.REAL)

    clock.move_to(START_MS + 3_600_000)
    machine.time_ms += 5
    assert clock.now_ms() == START_MS + 3_600_005
    clock.move_to(START_MS)
    assert clock.now_ms() == START_MS + 3_600_005


def test_a_new_mode_begins_at_the_current_time() -> None:
    machine = Machine()
    clock = clock_on(machine, ClockMode.REAL)
    machine.time_ms += 10

    clock.set_mode(ClockMode.STANDING)
    machine.time_ms += 10
    assert (clock.now_ms(), clock.factor) == (START_MS + 10, 0)
    clock.set_mode(ClockMode.SCALED, 2.0)
    machine.time_ms += 10
    assert (clock.now_ms(), clock.mode) == (START_MS + 30, ClockMode.SCALED)


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
def test_a_scaled_clock_needs_a_positive_factor(factor: float) -> None:
    with pytest.raises(ValueError, match="more than 0"):
        BrokerClock(ClockMode.SCALED, factor)


@given(
    st.sampled_from(list(ClockMode)),
    st.floats(0.01, 1000),
    st.lists(st.tuples(st.sampled_from(["pass", "move", "mode"]), st.integers(-5000, 5000))),
)
def test_time_never_decreases(mode: ClockMode, factor: float, steps: list[tuple[str, int]]) -> None:
    machine = Machine()
    clock = clock_on(machine, mode, factor)
    latest_ms = clock.now_ms()
    for step, amount_ms in steps:
        if step == "pass":
            machine.time_ms += amount_ms
        elif step == "move":
            clock.move_to(latest_ms + amount_ms)
            assert clock.now_ms() >= latest_ms + amount_ms
        else:
            clock.set_mode(list(ClockMode)[amount_ms % 3], factor)
        now_ms = clock.now_ms()
        assert now_ms >= latest_ms
        latest_ms = now_ms


@pytest.mark.parametrize("mode", [ClockMode.REAL, ClockMode.STANDING])
def test_a_restarted_clock_has_its_first_mode_and_the_system_time(mode: ClockMode) -> None:
    machine = Machine()
    clock = clock_on(machine, mode)
    clock.set_mode(ClockMode.SCALED, 5.0)
    clock.move_to(START_MS + 1_000_000)
    machine.time_ms += 10
    clock.restart()
    assert (clock.mode, clock.now_ms()) == (mode, START_MS + 10)
    machine.time_ms += 10
    assert clock.now_ms() == START_MS + (20 if mode is ClockMode.REAL else 10)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("pass"), st.integers(0, 10**10)),
            st.tuples(st.just("move"), st.integers(-(10**6), 10**6)),
            st.tuples(st.just("mode"), st.sampled_from(ClockMode)),
            st.just(("restart", 0)),
        )
    )
)
def test_the_systems_clock_is_read_in_one_call_with_the_same_result(
    steps: list[tuple[str, Any]],
) -> None:
    source_ns = 5_000_000_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock_module, "_read_ns", lambda: source_ns)
        system = SystemClock()
        patch.setattr(clock_module, "_MACHINE", system)
        clocks = BrokerClock(), BrokerClock(read_ms=system.now_ms)
        for name, argument in steps:
            if name == "pass":
                source_ns += argument
            for clock in clocks:
                if name == "move":
                    clock.move_to(clock.now_ms() + argument)
                elif name == "mode":
                    clock.set_mode(argument, 2.5)
                elif name == "restart":
                    clock.restart()
            assert clocks[0].now_ms() == clocks[1].now_ms()
