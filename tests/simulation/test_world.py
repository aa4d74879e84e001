"""A simulated world starts with its configuration and its rules, and reports bugs of the broker."""

import asyncio

import pytest

from broker.config.keys import ConfigError
from mock_kafka.simulated_world import SimulatedWorld, simulate
from simulation.network_conditions import NetworkConditions
from simulation.world import BrokerError, World


def world_of(config: dict[str, str], rules: list[dict[str, object]]) -> World:
    return World(1, 2, config, rules, NetworkConditions(), 100)


def test_configuration_and_rules_are_checked() -> None:
    with pytest.raises(ConfigError):
        world_of({"nun.partitions": "1"}, [])
    with pytest.raises(ValueError, match="api"):
        world_of({}, [{"apy": "Produce"}])


def test_the_addresses_are_those_of_all_brokers() -> None:
    assert world_of({}, []).bootstrap_servers == "broker-1:9092,broker-2:9092"


def test_a_bug_of_the_broker_ends_the_run() -> None:
    async def main(world: SimulatedWorld) -> None:
        def fail(_now_ms: int) -> None:
            raise ZeroDivisionError

        timers = world._world.server.cluster.timers
        timers.schedule(await world.kafka.now_ms() + 10, fail)
        await asyncio.sleep(1)

    with pytest.raises(BrokerError, match=r"a timer failed(.|\n)*ZeroDivisionError"):
        simulate(main)
