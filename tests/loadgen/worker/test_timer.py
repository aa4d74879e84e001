"""An alarm rings once for each time it is set."""

import asyncio

import pytest

from loadgen.worker import timer
from loadgen.worker.timer import Alarm


@pytest.mark.parametrize("has_timerfd", [True, False])
async def test_it_rings_once_at_its_time(
    monkeypatch: pytest.MonkeyPatch, has_timerfd: bool
) -> None:
    if not has_timerfd:
        libc, _ = timer._open_timerfd()
        monkeypatch.setattr(timer, "_open_timerfd", lambda: (libc, -1))

    loop = asyncio.get_running_loop()
    rings: list[float] = []
    rung = asyncio.Event()

    def ring() -> None:
        rings.append(loop.time())
        rung.set()

    alarm = Alarm(loop, ring)
    began = loop.time()
    alarm.set(60_000_000)
    alarm.set(5_000)  # takes the place of the one before
    await asyncio.wait_for(rung.wait(), 10)
    alarm.set(60_000_000)
    alarm.close()
    [rang] = rings
    assert rang - began >= 0.004


async def test_a_time_that_is_over_rings_at_once() -> None:
    rung = asyncio.Event()
    alarm = Alarm(asyncio.get_running_loop(), rung.set)
    alarm.set(-5)
    await asyncio.wait_for(rung.wait(), 10)
    alarm.close()
