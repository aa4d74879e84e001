"""A timer calls back once for each time it is set."""

import asyncio

import pytest

from loadgen.worker import timer
from loadgen.worker.timer import PreciseTimer


@pytest.mark.parametrize("has_timerfd", [True, False])
async def test_the_timer_calls_back_once_at_its_time(
    monkeypatch: pytest.MonkeyPatch, has_timerfd: bool
) -> None:
    if not has_timerfd:
        libc, _ = timer._open_timerfd()
        monkeypatch.setattr(timer, "_open_timerfd", lambda: (libc, -1))

    loop = asyncio.get_running_loop()
    calls: list[float] = []
    was_called = asyncio.Event()

    def callback() -> None:
        calls.append(loop.time())
        was_called.set()

    precise_timer = PreciseTimer(loop, callback)
    started = loop.time()
    precise_timer.set(60_000_000)
    precise_timer.set(5_000)  # replaces the time before
    await asyncio.wait_for(was_called.wait(), 10)
    precise_timer.set(60_000_000)
    precise_timer.close()
    [called] = calls
    assert called - started >= 0.004


async def test_a_timer_in_the_past_calls_back_at_once() -> None:
    was_called = asyncio.Event()
    precise_timer = PreciseTimer(asyncio.get_running_loop(), was_called.set)
    precise_timer.set(-5)
    await asyncio.wait_for(was_called.wait(), 10)
    precise_timer.close()
