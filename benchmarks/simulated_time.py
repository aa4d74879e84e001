"""Measure how many virtual seconds programs on `mock_kafka.simulate` live in a minute of a core.

python -m benchmarks.simulated_time [CASE ...]

Each program runs for some virtual time, in equal parts after its start. The figure is that of the
fastest half of the parts, because other work on the machine makes parts slower and none faster.

"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.report import print_line
from mock_kafka import simulate
from mock_kafka.simulated_world import SimulatedWorld

TOPIC = "orders"
PARTS = 20
HOUR_S = 3_600.0
Live = Callable[[SimulatedWorld, Callable[[], Awaitable[None]]], Awaitable[None]]
"""A program; it awaits the second argument when it has started, which is its life."""


async def sleep(_world: SimulatedWorld, live: Callable[[], Awaitable[None]]) -> None:
    """Sleep: nothing but the broker's own timers."""
    await live()


async def produce_nothing(world: SimulatedWorld, live: Callable[[], Awaitable[None]]) -> None:
    """Have a producer that refreshes its metadata, every five minutes by default."""
    async with AIOKafkaProducer(bootstrap_servers=world.bootstrap_servers):
        await live()


async def produce_hourly(world: SimulatedWorld, live: Callable[[], Awaitable[None]]) -> None:
    """Have a producer that sends a record every hour."""
    async with AIOKafkaProducer(bootstrap_servers=world.bootstrap_servers) as producer:

        async def send() -> None:
            while True:
                await producer.send_and_wait(TOPIC, b"one coffee")
                await asyncio.sleep(HOUR_S)

        await _beside(send(), live)


def consume(**settings: Any) -> Live:
    """Have the only member of a group wait for records that do not come."""

    async def program(world: SimulatedWorld, live: Callable[[], Awaitable[None]]) -> None:
        async with AIOKafkaConsumer(
            TOPIC, bootstrap_servers=world.bootstrap_servers, group_id="baristas", **settings
        ) as consumer:
            await _beside(consumer.getone(), live)

    return program


async def _beside(work: Any, live: Callable[[], Awaitable[None]]) -> None:
    task = asyncio.ensure_future(work)
    await live()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@dataclass(frozen=True)
class Case:
    """A program, and the virtual seconds of a part."""

    live: Live
    part_s: float


CASES = {
    "a program that sleeps": Case(sleep, 100 * HOUR_S),
    "an idle producer": Case(produce_nothing, 50 * HOUR_S),
    "a producer that sends once an hour": Case(produce_hourly, 50 * HOUR_S),
    "a member of a group, fetch_max_wait_ms=30_000": Case(
        consume(fetch_max_wait_ms=30_000), HOUR_S / 4
    ),
    "a member of a group": Case(consume(), HOUR_S / 12),
}


def seconds_per_minute(case: Case, parts: int = PARTS) -> float:
    """Return the virtual seconds that a program lives in a minute of a core's time."""
    durations_s: list[float] = []

    async def main(world: SimulatedWorld) -> None:
        async def live() -> None:
            await asyncio.sleep(case.part_s)  # it starts, and joins its group
            for _ in range(parts):
                begun_s = time.process_time()
                await asyncio.sleep(case.part_s)
                durations_s.append(time.process_time() - begun_s)

        await world.kafka.create_topic(TOPIC, partitions=1)
        await case.live(world, live)

    simulate(main, seed=7, limit_s=2 * (parts + 2) * case.part_s)
    fastest_s = sorted(durations_s)[: max(1, parts // 2)]
    return 60 * case.part_s * len(fastest_s) / sum(fastest_s)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--parts", type=int, default=PARTS, help=f"default {PARTS}")
    arguments = parser.parse_args()
    for name in arguments.cases or CASES:
        found = seconds_per_minute(CASES[name], arguments.parts)
        print_line(
            {
                "measurement": "simulated-time",
                "case": name,
                "virtual_s_per_minute": float(f"{found:.3g}"),
            }
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
