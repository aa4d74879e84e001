"""A server without sockets takes clients at the addresses of its brokers only."""

from asyncio import Protocol, get_running_loop

import pytest

from mock_kafka import ControlError
from mock_kafka.simulated_world import SimulatedWorld, simulate


def test_a_stopped_broker_refuses_and_a_new_one_accepts() -> None:
    async def main(world: SimulatedWorld) -> list[str]:

        outcomes = []
        await world.kafka.stop_broker(1)
        assert await world.kafka.add_broker() == 2
        for host, port in (("broker-1", 9092), ("broker-2", 9092), ("broker-2", 1), ("x", 9092)):
            try:
                transport, _ = await get_running_loop().create_connection(Protocol, host, port)
            except ConnectionRefusedError:
                outcomes.append("refused")
            else:
                outcomes.append("open")
                transport.close()
        return outcomes

    assert simulate(main).value == ["refused", "open", "refused", "refused"]


def test_brokers_keep_their_addresses() -> None:
    async def main(world: SimulatedWorld) -> None:
        with pytest.raises(ControlError, match="keep their addresses"):
            await world.kafka.reset(ports="new")

    simulate(main)
