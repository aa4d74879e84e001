"""Coroutines of asyncio and of trio run methods of a cluster without blocking their event loop."""

import asyncio
import os
import threading

import anyio
import pytest
import trio

from mock_kafka import MockKafka
from mock_kafka.threads import run_in_thread
from tests.mock_kafka.sockets import can_connect


async def use_a_cluster() -> str:
    async with MockKafka() as kafka:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: kafka.aio.wait_for(api="ApiVersions", timeout_s=20))
            await kafka.aio.create_topic("orders")
            # The loop is free while the method above waits.
            assert await anyio.to_thread.run_sync(can_connect, kafka.bootstrap_servers)
            assert (await kafka.aio.topics())[0].name == "orders"
            await kafka.aio.reset()
            tasks.cancel_scope.cancel()
        return kafka.bootstrap_servers


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cluster_is_used_on_both_event_loops_of_anyio(backend: str) -> None:
    assert not can_connect(anyio.run(use_a_cluster, backend=backend))


async def cancelled_while_a_cluster_runs(pids: list[int]) -> None:
    with anyio.move_on_after(0.01) as scope:
        async with MockKafka() as kafka:
            pids.append(kafka.pid)
            await anyio.sleep_forever()
    assert scope.cancelled_caught


@pytest.mark.slow
def test_a_cancelled_trio_task_stops_its_cluster() -> None:
    pids: list[int] = []
    trio.run(cancelled_while_a_cluster_runs, pids)
    [pid] = pids
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_cancelled_trio_task_does_not_wait_for_a_method() -> None:
    end = threading.Event()

    async def cancelled() -> bool:
        with trio.move_on_after(0.01) as scope:
            await run_in_thread(end.wait, 60)
        return scope.cancelled_caught

    try:
        assert trio.run(cancelled)
    finally:
        end.set()


def test_asyncio_runs_beside_an_imported_trio() -> None:
    async def threads() -> tuple[int, int]:
        return threading.get_ident(), await run_in_thread(threading.get_ident)

    here, there = asyncio.run(threads())
    assert here == threading.get_ident() != there


def test_named_arguments_and_errors_pass_through_trio() -> None:
    async def call(text: str) -> int:
        return await run_in_thread(int, text, base=16)

    assert trio.run(call, "ff") == 255
    with pytest.raises(ValueError, match="invalid literal"):
        trio.run(call, "x")
