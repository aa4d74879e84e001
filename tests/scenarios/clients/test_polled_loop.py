import asyncio

import pytest

from scenarios.clients.polled_loop import PolledLoop


async def note_and_wait(notes: list[str]) -> None:
    notes.append("begun")
    try:
        await asyncio.Event().wait()
    finally:
        notes.append("cancelled")


def test_a_task_goes_on_only_while_the_loop_is_polled_and_ends_with_it() -> None:
    loop, notes = PolledLoop(), list[str]()
    loop.start(note_and_wait(notes))
    assert notes == []
    loop.poll(0)
    assert notes == ["begun"]
    loop.close()
    assert notes == ["begun", "cancelled"]


def test_a_coroutine_returns_its_result_or_takes_too_long() -> None:
    loop = PolledLoop()
    assert loop.run(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(TimeoutError):
        loop.run(asyncio.Event().wait(), 0.001)
    loop.close()
