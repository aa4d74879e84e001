"""Worlds with clients of aiokafka: producers, a group, and transactions. Faults end after 20 s.

Each kind is a coroutine function for `simulate`. It returns the violations that it has found in
what the clients reported and what is stored.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    IllegalStateError,
    KafkaError,
)

from mock_kafka.simulated_world import SimulatedWorld, SimulationResult, simulate
from simulation.process import Process
from tests.simulation.aiokafka_chaos import BROKERS, FAULTS_S, Chaos, conditions_of
from tests.simulation.aiokafka_mends import mended

CONFIG = {
    "default.replication.factor": 3,
    "min.insync.replicas": 1,
    "group.initial.rebalance.delay.ms": 100,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
}
LIMIT_S = 900.0
"""Far more virtual time than a world needs that is not stuck."""
SETTLE_S = 120.0
"""Time after the faults in which everything has to be done."""
POLL_S = 0.3
CLIENT = {"request_timeout_ms": 4_000, "retry_backoff_ms": 50, "metadata_max_age_ms": 5_000}

Kind = Callable[[SimulatedWorld], Coroutine[Any, Any, list[str]]]


def run_world(kind: str, seed: int, *released: str) -> SimulationResult[list[str]]:
    """Run one world of a kind; the result has the findings of the audit among its violations.

    Of the errors of docs/findings.md aiokafka has those that `released` names.
    """
    with mended(*released):
        result = simulate(
            KINDS[kind],
            seed=seed,
            brokers=BROKERS,
            config=CONFIG,
            network=conditions_of(Random(f"{seed}/conditions")),
            limit_s=LIMIT_S,
        )
    result.value.extend(f"audit: {finding}" for finding in result.audit.findings)
    return result


# Producers ---------------------------------------------------------------------------------------


@dataclass
class Sent:
    """What a producer has sent, and what it was answered."""

    partitions: dict[bytes, int] = field(default_factory=dict)
    """All values in the order of sending, with their partitions."""
    offsets: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    """The partitions and offsets of those that were acknowledged."""
    failed: dict[bytes, Exception] = field(default_factory=dict)


async def produce(world: SimulatedWorld) -> list[str]:
    """Let idempotent and plain producers send while there are faults, and check what is stored."""
    random = world.random
    await world.kafka.create_topic("orders", partitions=random.randint(1, 3))
    chaos = asyncio.create_task(Chaos(world, ("Produce", "InitProducerId"), "orders").run())
    sent = {f"p{number}": Sent() for number in range(random.randint(1, 3))}
    is_idempotent = {name: random.random() < 0.7 for name in sent}
    try:
        async with asyncio.timeout(FAULTS_S + SETTLE_S):
            await asyncio.gather(
                *(_produce(world, name, sent[name], is_idempotent[name]) for name in sent)
            )
    except TimeoutError:
        return [f"producers are not done {SETTLE_S} s after the faults"]
    await chaos
    violations: list[str] = []
    for name, own in sent.items():
        await _check_stored(world, name, own, is_idempotent[name], violations)
    return violations


async def _produce(world: SimulatedWorld, name: str, sent: Sent, is_idempotent: bool) -> None:
    random = Random(f"{world.seed}/{name}")
    producer = AIOKafkaProducer(
        bootstrap_servers=world.bootstrap_servers,
        client_id=name,
        enable_idempotence=is_idempotent,
        acks="all",
        linger_ms=random.choice((0, 5)),
        compression_type=random.choice((None, "gzip", "lz4")),
        **CLIENT,
    )
    await _start(producer)
    count = len((await world.kafka.topic("orders")).partitions)

    async def outcome(value: bytes, future: asyncio.Future[Any]) -> None:
        try:
            metadata = await future
        except KafkaError as error:
            sent.failed[value] = error
        else:
            sent.offsets[value] = (metadata.partition, metadata.offset)

    outcomes: list[asyncio.Task[None]] = []
    for number in range(random.randint(5, 60)):
        value = f"{name}-{number}".encode()
        partition = random.randrange(count)
        sent.partitions[value] = partition
        try:
            future = await producer.send("orders", value, partition=partition)
        except KafkaError as error:
            sent.failed[value] = error
        else:
            outcomes.append(asyncio.create_task(outcome(value, future)))
        if random.random() < 0.5:
            await asyncio.sleep(random.random() * 0.8)
    await asyncio.gather(*outcomes)
    await producer.stop()


async def _start(client: Any) -> None:
    """Start a client; try again until a bootstrap succeeds."""
    while True:
        try:
            await client.start()
        except KafkaError:
            await asyncio.sleep(0.2)
        else:
            return


async def _check_stored(
    world: SimulatedWorld, name: str, sent: Sent, is_idempotent: bool, violations: list[str]
) -> None:
    stored = [
        record
        for record in await world.kafka.records("orders")
        if record.value is not None and record.value.startswith(f"{name}-".encode())
    ]
    counts = Counter(record.value for record in stored)
    places = {(record.value, record.partition, record.offset) for record in stored}
    for value, (partition, offset) in sent.offsets.items():
        if (value, partition, offset) not in places and offset >= 0:
            violations.append(
                f"{value!r} was acknowledged at {partition}/{offset}, and is not there"
            )
        if not counts[value]:
            violations.append(f"{value!r} was acknowledged, and is not stored")
    if not is_idempotent:
        return
    violations += [
        f"{value!r} is stored {count} times" for value, count in counts.items() if count > 1
    ]
    order = {value: number for number, value in enumerate(sent.partitions)}
    by_partition: dict[int, list[int]] = defaultdict(list)
    for record in stored:
        assert record.value is not None
        by_partition[record.partition].append(order[record.value])
    violations += [
        f"records of {name} are out of order in partition {partition}: {numbers}"
        for partition, numbers in by_partition.items()
        if numbers != sorted(numbers)
    ]
    missing = sent.partitions.keys() - sent.offsets.keys() - sent.failed.keys()
    violations += [f"{value!r} has no outcome" for value in sorted(missing)]


# A group -----------------------------------------------------------------------------------------


@dataclass
class Processed:
    """What the members of a group have processed."""

    offsets: dict[TopicPartition, set[int]] = field(default_factory=lambda: defaultdict(set))
    is_auto: bool = False
    """Whether the members leave it to aiokafka to commit."""
    violations: list[str] = field(default_factory=list)


async def group(world: SimulatedWorld) -> list[str]:
    """Let members read, commit, leave and be killed; no commit is ahead of what was processed."""
    random = world.random
    await world.kafka.create_topic("orders", partitions=random.randint(2, 4))
    apis = ("Fetch", "FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit")
    chaos = asyncio.create_task(Chaos(world, (*apis, "OffsetFetch"), "orders").run())
    processed = Processed()
    processed.is_auto = random.random() < 0.4
    written = asyncio.create_task(_write_orders(world))
    members = [
        asyncio.create_task(_keep_member(world, f"m{number}", processed)) for number in range(2)
    ]
    await written
    await chaos
    ends = await _ends(world)

    async def has_read() -> bool:
        return all(processed.offsets[place] >= set(range(ends[place])) for place in ends)

    if not await _settles(has_read):
        lacking = {place: ends[place] - len(processed.offsets[place]) for place in ends}
        processed.violations.append(f"the group has not read everything: {lacking} are left")
    for member in members:
        member.cancel()
    results = await asyncio.wait_for(asyncio.gather(*members, return_exceptions=True), SETTLE_S)
    processed.violations += [f"a member raised {error!r}" for error in results if _is_bug(error)]
    stored = await world.kafka.committed("g")
    for place, end in ends.items():
        committed = stored.get((place.topic, place.partition), 0)
        if not processed.offsets[place] >= set(range(committed)):
            processed.violations.append(f"{place} is committed to {committed}, ahead of processing")
        if committed > end:
            processed.violations.append(f"{place} is committed to {committed}, and ends at {end}")
    return processed.violations


def _is_bug(error: object) -> bool:
    return isinstance(error, Exception) and not isinstance(error, asyncio.CancelledError)


async def _settles(is_done: Callable[[], Coroutine[Any, Any, bool]]) -> bool:
    """Return whether a condition becomes true within `SETTLE_S`."""
    for _ in range(int(SETTLE_S / POLL_S)):
        if await is_done():
            return True
        await asyncio.sleep(POLL_S)
    return False


async def _write_orders(world: SimulatedWorld) -> None:
    count = len((await world.kafka.topic("orders")).partitions)
    random = Random(f"{world.seed}/orders")
    for number in range(random.randint(20, 80)):
        with suppress(RuntimeError):  # its leader is down
            await world.kafka.produce("orders", f"{number}", partition=random.randrange(count))
        await asyncio.sleep(random.random() * 0.4)


async def _ends(world: SimulatedWorld) -> dict[TopicPartition, int]:
    topic = await world.kafka.topic("orders")
    return {
        TopicPartition("orders", index): partition.log_end_offset
        for index, partition in enumerate(topic.partitions)
    }


async def _keep_member(world: SimulatedWorld, name: str, processed: Processed) -> None:
    """Have a member come back after it was killed or has left, until this is cancelled."""
    random = Random(f"{world.seed}/{name}")
    count = 0
    process = None
    try:
        while True:
            count += 1
            has_next = world.virtual_s < FAULTS_S
            stopped = asyncio.Event()
            process = world.process(
                _member(world, f"{name}.{count}", processed, random.choice((5, 50)), stopped)
            )
            waiting = {process.task}
            await asyncio.wait(waiting, timeout=random.uniform(2, 12) if has_next else None)
            if process.task.done():
                await _end_of(process, processed.violations)
            elif random.random() < 0.5:
                process.kill()
            else:
                stopped.set()
                await _end_of(process, processed.violations)
    finally:
        if process is not None and not (process.is_killed or process.task.done()):
            stopped.set()
            await _end_of(process, processed.violations)


async def _end_of(process: Process[None], violations: list[str]) -> None:
    """Wait for the end of a process that nobody has cancelled."""
    await asyncio.wait({process.task})
    if process.task.cancelled():
        violations.append("a client raised CancelledError, and nobody had cancelled it")
    else:
        await process.task


async def _member(
    world: SimulatedWorld, name: str, processed: Processed, most: int, stopped: asyncio.Event
) -> None:
    """Process records, at most `most` at a time, and commit what was processed."""
    consumer = AIOKafkaConsumer(
        "orders",
        bootstrap_servers=world.bootstrap_servers,
        client_id=name,
        group_id="g",
        enable_auto_commit=processed.is_auto,
        auto_commit_interval_ms=1_000,
        auto_offset_reset="earliest",
        session_timeout_ms=6_000,
        heartbeat_interval_ms=500,
        rebalance_timeout_ms=6_000,
        **CLIENT,
    )
    await _start(consumer)
    while not stopped.is_set():
        batches = await consumer.getmany(timeout_ms=300, max_records=most)
        offsets: dict[TopicPartition, int] = {}
        for place, records in batches.items():
            if not processed.is_auto:
                await asyncio.sleep(0.01)
            processed.offsets[place].update(record.offset for record in records)
            offsets[place] = records[-1].offset + 1
        if offsets and not processed.is_auto:
            with suppress(CommitFailedError, IllegalStateError, KafkaError):
                await consumer.commit(offsets)
    await consumer.stop()


# Transactions ------------------------------------------------------------------------------------


async def transact(world: SimulatedWorld) -> list[str]:
    """Consume, transform and produce in transactions; each input has one committed output."""
    random = world.random
    count = random.randint(1, 2)
    for topic in ("orders", "invoices"):
        await world.kafka.create_topic(topic, partitions=count)
    apis = ("AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "InitProducerId")
    chaos = asyncio.create_task(Chaos(world, (*apis, "Produce", "OffsetFetch"), "invoices").run())
    written = asyncio.create_task(_write_orders(world))
    violations: list[str] = []
    processors = [
        asyncio.create_task(_keep_processor(world, partition, violations))
        for partition in range(count)
    ]
    await written
    await chaos
    ends = await _ends(world)
    inputs = [record.value for record in await world.kafka.records("orders")]

    async def has_committed() -> bool:
        return await _committed(world, ends) == ends

    if not await _settles(has_committed):
        violations.append(f"committed {await _committed(world, ends)} of {ends}")
    for processor in processors:
        processor.cancel()
    results = await asyncio.wait_for(asyncio.gather(*processors, return_exceptions=True), SETTLE_S)
    violations += [f"a processor raised {error!r}" for error in results if _is_bug(error)]
    records = await world.kafka.records("invoices", isolation_level="read_committed")
    outputs = Counter(record.value for record in records)
    violations += [f"{value!r} is committed {n} times" for value, n in outputs.items() if n > 1]
    if not violations:
        violations += [f"{value!r} has no output" for value in inputs if not outputs[value]]
    return violations


async def _committed(
    world: SimulatedWorld, ends: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    try:
        stored = await world.kafka.committed("g")
    except RuntimeError:  # there is no such group yet
        stored = {}
    return {place: stored.get((place.topic, place.partition), 0) for place in ends}


async def _keep_processor(world: SimulatedWorld, partition: int, ends: list[str]) -> None:
    """Kill the processor of a partition now and then; some come back while the old one lives."""
    random = Random(f"{world.seed}/processor {partition}")
    processes = []
    try:
        while True:
            has_next = world.virtual_s < FAULTS_S
            process = world.process(_processor(world, partition, random.choice((1, 5, 50)), ends))
            processes.append(process)
            await asyncio.wait({process.task}, timeout=random.uniform(1, 8) if has_next else None)
            if process.task.done():
                await _end_of(process, ends)
                await asyncio.sleep(0.2)
            elif random.random() < 0.7:
                process.kill()
    finally:
        for process in processes:
            process.kill()


async def _processor(world: SimulatedWorld, partition: int, most: int, ends: list[str]) -> None:
    """Copy records in transactions until an error ends it, as a program that is restarted.

    An end by an error that has no other type goes into `ends`.
    """
    producer = AIOKafkaProducer(
        bootstrap_servers=world.bootstrap_servers,
        client_id=f"t{partition}",
        transactional_id=f"t{partition}",
        transaction_timeout_ms=10_000,
        **CLIENT,
    )
    consumer = AIOKafkaConsumer(
        bootstrap_servers=world.bootstrap_servers,
        client_id=f"t{partition}",
        group_id="g",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        **CLIENT,
    )
    place = TopicPartition("orders", partition)
    try:
        await producer.start()
        consumer.assign([place])
        await consumer.start()
        while True:
            batches = await consumer.getmany(place, timeout_ms=300, max_records=most)
            records = batches.get(place, [])
            if not records:
                continue
            async with producer.transaction():
                for record in records:
                    await producer.send("invoices", record.value, partition=partition)
                await producer.send_offsets_to_transaction({place: records[-1].offset + 1}, "g")
    except KafkaError as error:
        # The next one goes on after the last committed offset.
        if type(error) is KafkaError:
            ends.append(f"a processor ended with {error!r}")
    finally:
        with suppress(KafkaError):
            await consumer.stop()
        with suppress(KafkaError):
            await producer.stop()


KINDS: dict[str, Kind] = {"producer": produce, "group": group, "transaction": transact}
