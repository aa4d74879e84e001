import asyncio

import pytest

from atlas.adapters.adapter import UnansweredError
from atlas.adapters.loop_thread import LoopThread


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def fail() -> None:
    raise ValueError("broken")


def test_a_coroutine_runs_in_the_thread_and_returns_its_result() -> None:
    thread = LoopThread()
    assert thread.run(double(3), 1_000) == 6
    with pytest.raises(ValueError, match="broken"):
        thread.run(fail(), 1_000)


def test_a_coroutine_that_does_not_end_is_cancelled() -> None:
    thread = LoopThread()
    was_cancelled = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            was_cancelled.append(True)
            raise

    with pytest.raises(UnansweredError):
        thread.run(wait(), 1)
    assert thread.run(double(1), 1_000) == 2
    assert was_cancelled == [True]
