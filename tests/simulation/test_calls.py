"""Calls and timers of the simulated loop, and what their end leaves."""

import asyncio

import pytest

from simulation.event_loop import SimulatedLoop


@pytest.fixture
def loop() -> SimulatedLoop:
    return SimulatedLoop(limit_s=100)


def test_a_timer_that_has_run_may_still_be_cancelled(loop: SimulatedLoop) -> None:
    calls: list[int] = []
    timer = loop.call_later(1, calls.append, 1)
    loop.run_until_complete(asyncio.sleep(2))
    timer.cancel()
    assert timer.cancelled()
    assert calls == [1]
    loop.run_until_complete(asyncio.sleep(1))  # it is not counted as one that still waits


def test_a_call_that_was_cancelled_does_not_run(loop: SimulatedLoop) -> None:
    calls: list[int] = []
    cancelled = loop.call_soon(calls.append, 1)
    loop.call_soon(calls.append, 2)
    cancelled.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    assert cancelled.cancelled()
    assert calls == [2]


def test_a_cancelled_call_keeps_nothing_alive(loop: SimulatedLoop) -> None:
    timer = loop.call_later(1, print, "a large object")
    assert "print" in repr(timer)
    timer.cancel()
    assert timer.args == ()
    assert repr(timer) == "<SimulatedTimer cancelled>"
    assert timer.when() == loop.time() + 1
