"""The description of waiting tasks has each coroutine's line."""

import asyncio

from simulation.event_loop import SimulatedLoop
from simulation.waiting_tasks import describe_tasks


def test_the_lines_are_those_of_all_coroutines_of_a_task() -> None:
    async def inner() -> None:
        await asyncio.sleep(10)

    async def outer() -> None:
        await inner()

    async def main() -> str:
        task = asyncio.create_task(outer(), name="waiter")
        await asyncio.sleep(1)
        described = describe_tasks(asyncio.get_running_loop())
        task.cancel()
        return described

    described = SimulatedLoop(100).run_until_complete(main())
    waiter = described[described.index("waiter:") :]
    places = [line.rpartition(" in ")[2].rpartition(".")[2] for line in waiter.splitlines()[1:4]]
    assert places == ["outer", "inner", "sleep"]
    assert described.startswith("2 tasks wait:")
