"""Processes of a world: their tasks and connections end together."""

import asyncio

import pytest
from aiokafka import AIOKafkaProducer

from mock_kafka.simulated_world import SimulatedWorld, simulate


def test_a_killed_process_sends_nothing_more() -> None:
    async def send_for_ever(world: SimulatedWorld) -> None:
        async with AIOKafkaProducer(bootstrap_servers=world.bootstrap_servers) as producer:
            while True:
                await producer.send_and_wait("orders", b"one")
                await asyncio.sleep(0.1)

    async def main(world: SimulatedWorld) -> tuple[int, int]:
        process = world.process(send_for_ever(world))
        await asyncio.sleep(5)
        process.kill()
        assert process.is_killed
        before = len(await world.kafka.records("orders"))
        await asyncio.sleep(60)
        with pytest.raises(asyncio.CancelledError):
            await process.task
        return before, len(await world.kafka.records("orders"))

    before, after = simulate(main).value
    assert 10 < before == after


def test_a_process_returns_the_result_of_its_coroutine() -> None:
    async def main(world: SimulatedWorld) -> str:
        return await world.process(asyncio.sleep(1, "done")).task

    assert simulate(main).value == "done"
