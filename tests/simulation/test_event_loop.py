"""The event loop in virtual time: timers, tasks, and connections of the simulated network."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from random import Random
from typing import Any

import pytest

from simulation.event_loop import START_S, DeadlockError, SimulatedLoop, TimeLimitError
from simulation.network import Network
from simulation.network_conditions import NetworkConditions


@pytest.fixture
def loop() -> SimulatedLoop:
    loop = SimulatedLoop(limit_s=100_000)
    conditions = NetworkConditions(delay_ms_max=5, split_chance=0.3, unread_bytes_max=1 << 20)
    loop.network = Network(loop, Random(1), conditions, lambda _line: None, is_traced=False)
    loop.network.accept = loop.accept
    return loop


def test_time_jumps_to_the_next_timer(loop: SimulatedLoop) -> None:
    before_s = loop.time()
    loop.run_until_complete(asyncio.sleep(86_400))
    assert loop.time() - before_s == pytest.approx(86_400, abs=0.001)


def test_timers_run_by_time_and_then_in_the_order_of_their_setting(loop: SimulatedLoop) -> None:
    calls: list[int] = []
    for number in range(20):
        loop.call_at(2_000, calls.append, number)
    loop.call_at(1_999, calls.append, -1)
    loop.call_soon(calls.append, -2)
    loop.run_until_complete(asyncio.sleep(2_000))
    assert calls == [-2, -1, *range(20)]


def test_a_cancelled_timer_does_not_run(loop: SimulatedLoop) -> None:
    calls: list[int] = []
    timers = [loop.call_later(1, calls.append, number) for number in range(300)]
    for timer in timers[::2]:
        timer.cancel()
    loop.run_until_complete(asyncio.sleep(2))
    assert calls == list(range(300))[1::2]


def test_what_a_call_raises_goes_to_the_exception_handler(loop: SimulatedLoop) -> None:
    contexts: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _loop, context: contexts.append(context))
    loop.call_soon(divmod, 1, 0)
    loop.run_until_complete(asyncio.sleep(1))
    assert [type(context["exception"]) for context in contexts] == [ZeroDivisionError]


def test_cancelled_timers_do_not_hide_a_deadlock(loop: SimulatedLoop) -> None:
    async def main() -> None:
        loop.call_later(50_000, print).cancel()
        alarm = loop.call_later(1, print)
        loop.is_dead = lambda timer: timer is alarm
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match="can ever happen"):
        loop.run_until_complete(main())
    assert loop.time() - START_S < 1


def test_wait_for_ends_at_its_timeout(loop: SimulatedLoop) -> None:
    async def main() -> float:
        before_s = loop.time()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(loop.create_future(), 30)
        return loop.time() - before_s

    assert loop.run_until_complete(main()) == pytest.approx(30, abs=0.001)


def test_tasks_in_a_set_have_the_order_of_their_start(loop: SimulatedLoop) -> None:
    async def main() -> list[str]:
        tasks = [asyncio.create_task(asyncio.sleep(1)) for _ in range(50)]
        done, _ = await asyncio.wait(tasks)
        return [hash(task) - hash(tasks[0]) for task in done]  # type: ignore[misc]

    assert loop.run_until_complete(main()) == loop.run_until_complete(main())


def test_an_executor_runs_its_function_at_once(loop: SimulatedLoop) -> None:
    async def main() -> list[Any]:
        results = [await asyncio.to_thread(len, "four")]
        with pytest.raises(ZeroDivisionError):
            await loop.run_in_executor(None, partial(divmod, 1, 0))
        return results

    assert loop.run_until_complete(main()) == [4]


def test_a_deadlock_names_the_tasks_and_their_lines(loop: SimulatedLoop) -> None:
    async def wait_for_ever() -> None:
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match=r"can ever happen(.|\n)*test_event_loop\.py") as error:
        loop.run_until_complete(wait_for_ever())
    assert "wait_for_ever" in str(error.value)


def test_the_limit_of_virtual_time_ends_the_run(loop: SimulatedLoop) -> None:
    with pytest.raises(TimeLimitError, match="limit of 100000 virtual seconds"):
        loop.run_until_complete(asyncio.sleep(200_000))


def test_tasks_that_run_without_end_are_found(
    loop: SimulatedLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulation.event_loop.TURNS_MAX", 1_000)

    async def spin() -> None:
        while True:  # noqa: ASYNC110 - that is the test
            await asyncio.sleep(0)

    with pytest.raises(DeadlockError, match="tasks run without end: 1000 turns"):
        loop.run_until_complete(spin())


# Connections -------------------------------------------------------------------------------------

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.close()


def test_streams_arrive_whole_and_in_order(loop: SimulatedLoop) -> None:
    async def main() -> bytes:
        await asyncio.start_server(echo, "service", 80)
        reader, writer = await asyncio.open_connection("service", 80)
        writer.writelines(b"%d," % number for number in range(1_000))
        for number in range(1_000, 2_000):
            writer.write(b"%d," % number)
        writer.write_eof()
        received = await reader.read()
        writer.close()
        await writer.wait_closed()
        return received

    assert loop.run_until_complete(main()) == b"".join(b"%d," % n for n in range(2_000))


def test_a_half_closed_connection_still_delivers(loop: SimulatedLoop) -> None:
    async def answer_after_the_end(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"you sent " + await reader.read())
        writer.close()

    async def main() -> bytes:
        await asyncio.start_server(answer_after_the_end, "service", 80)
        reader, writer = await asyncio.open_connection("service", 80)
        writer.write(b"all")
        writer.write_eof()
        received = await reader.read()
        writer.close()
        return received

    assert loop.run_until_complete(main()) == b"you sent all"


def test_a_writer_waits_for_a_server_that_does_not_read(loop: SimulatedLoop) -> None:
    events: list[str] = []

    async def read_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(60)
        events.append("reads")
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        await reader.read()
        writer.close()

    async def main() -> None:
        await asyncio.start_server(read_late, "service", 80)
        _reader, writer = await asyncio.open_connection("service", 80)
        await asyncio.sleep(1)
        writer.write(bytes(200_000))
        await writer.drain()
        events.append("has written")
        writer.close()
        await asyncio.sleep(1)

    loop.run_until_complete(main())
    assert events == ["reads", "has written"]


def test_nobody_listens_at_an_unknown_address(loop: SimulatedLoop) -> None:
    with pytest.raises(ConnectionRefusedError):
        loop.run_until_complete(asyncio.open_connection("nowhere", 80))


def test_a_write_to_a_server_that_is_gone_resets_the_connection(loop: SimulatedLoop) -> None:
    async def leave(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def main() -> None:
        await asyncio.start_server(leave, "service", 80)
        reader, writer = await asyncio.open_connection("service", 80)
        assert await reader.read() == b""
        writer.write(b"more")
        await asyncio.sleep(0.1)
        with pytest.raises(ConnectionResetError):
            await writer.drain()
        writer.close()

    loop.run_until_complete(main())


def test_a_cut_connection_is_reset(loop: SimulatedLoop) -> None:
    async def main() -> None:
        await asyncio.start_server(echo, "service", 80)
        reader, writer = await asyncio.open_connection("service", 80)
        assert loop.network is not None
        loop.network.conditions.cut_chance = 1.0
        writer.write(b"lost")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()

    loop.run_until_complete(main())


def test_there_is_neither_tls_nor_a_socket(loop: SimulatedLoop) -> None:
    with pytest.raises(NotImplementedError):
        loop.run_until_complete(asyncio.open_connection("service", 80, ssl=True))
