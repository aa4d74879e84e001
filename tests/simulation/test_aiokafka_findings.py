"""The shortest program for each error of docs/findings.md, with aiokafka as released and mended.

When a release of aiokafka has mended an error, its test fails: remove the mend then.
"""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError

from mock_kafka.simulated_world import SimulatedWorld, simulate
from tests.simulation.aiokafka_mends import mended

FAULTY_AND_MENDED = pytest.mark.parametrize("is_mended", [False, True])


def outcome(program: Any, finding: str, is_mended: bool) -> Any:
    """Return what a program returns while aiokafka has one of the errors, or none."""
    with mended(*(() if is_mended else (finding,))):
        return simulate(program).value


def consumer_of(world: SimulatedWorld, **settings: Any) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        "orders",
        bootstrap_servers=world.bootstrap_servers,
        group_id="g",
        auto_offset_reset="earliest",
        **settings,
    )


async def first_offset_after_a_commit(world: SimulatedWorld) -> int:
    """Return the first offset that a consumer reads whose group has committed offset 3."""
    await world.kafka.create_topic("orders", partitions=1)
    await world.kafka.produce("orders", *map(str, range(5)))
    async with consumer_of(world, enable_auto_commit=False) as first:
        await first.commit({await _only_partition(first): 3})
    await world.kafka.fail(api="OffsetFetch", error="NOT_COORDINATOR", times=1)
    async with consumer_of(world) as second:
        record = await second.getone()
    offset: int = record.offset
    return offset


async def _only_partition(consumer: AIOKafkaConsumer) -> Any:
    await consumer.getone()
    [partition] = consumer.assignment()
    return partition


@FAULTY_AND_MENDED
def test_an_error_of_a_whole_offset_fetch_is_taken_for_no_offset(is_mended: bool) -> None:
    offset = outcome(first_offset_after_a_commit, "offset_fetch_errors", is_mended)
    assert offset == (3 if is_mended else 0)


async def stop_after_a_failed_fetch(world: SimulatedWorld) -> str:
    """Return how `stop` ends while a fetch waits for its retry."""
    await world.kafka.create_topic("orders", partitions=1)
    consumer = consumer_of(world, enable_auto_commit=False, retry_backoff_ms=1_000)
    await consumer.start()
    await asyncio.sleep(5)
    await world.kafka.drop_request(api="Fetch", times=1)
    await asyncio.sleep(1)
    try:
        await consumer.stop()
    except asyncio.CancelledError:
        return "cancelled"
    return "stopped"


@FAULTY_AND_MENDED
def test_stop_raises_cancelled_error_while_a_fetch_waits_for_its_retry(is_mended: bool) -> None:
    ended = outcome(stop_after_a_failed_fetch, "cancelled_fetch", is_mended)
    assert ended == ("stopped" if is_mended else "cancelled")


async def transactional_start(world: SimulatedWorld) -> str:
    """Return how `start` ends when one connection is lost during the look-up."""
    await world.kafka.drop_response(api="FindCoordinator", times=1)
    producer = AIOKafkaProducer(bootstrap_servers=world.bootstrap_servers, transactional_id="t")
    try:
        await producer.start()
    except KafkaError as error:
        return type(error).__name__
    finally:
        with suppress(KafkaError):
            await producer.stop()
    return "started"


@FAULTY_AND_MENDED
def test_a_connection_that_is_lost_during_a_look_up_ends_a_transactional_producer(
    is_mended: bool,
) -> None:
    ended = outcome(transactional_start, "lost_lookup", is_mended)
    assert ended == ("started" if is_mended else "KafkaError")


async def stop_during_a_lost_commit(world: SimulatedWorld) -> str:
    """Return how `stop` ends when the connection is lost during its last commit."""
    await world.kafka.create_topic("orders", partitions=1)
    await world.kafka.produce("orders", "one")
    consumer = consumer_of(world, enable_auto_commit=True, auto_commit_interval_ms=60_000)
    await consumer.start()
    await consumer.getone()
    await world.kafka.drop_request(api="OffsetCommit", times=1)
    try:
        await asyncio.wait_for(consumer.stop(), 60)
    except TimeoutError:
        return "still stopping after a minute"
    return "stopped"


@FAULTY_AND_MENDED
def test_stop_commits_without_end_once_the_coordinator_is_lost(is_mended: bool) -> None:
    ended = outcome(stop_during_a_lost_commit, "endless_commit", is_mended)
    assert ended == ("stopped" if is_mended else "still stopping after a minute")
