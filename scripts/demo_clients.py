"""The demo: three unmodified client libraries and a cluster of three brokers.

Each library creates a topic, writes records idempotently with acks=all, reads half of them as a
member of a group, commits and leaves. A second member reads the rest. Then the demo checks that
every record was read once and in the order of its partition. The exit status is 1 if a check fails.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Protocol

import aiokafka
import aiokafka.admin
import confluent_kafka
import confluent_kafka.admin
import kafka
import kafka.admin
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from mock_kafka import MockKafka, StartError

BROKERS = 3
PARTITIONS = 6
TIMEOUT_S = 30.0
GROUP_SUFFIX = "-group"

Advance = Callable[[int], None]
"""Called with the number of records since the last call."""

Found = tuple[int, int, int]
"""Partition, offset and number of a consumed record."""


def value_of(number: int) -> bytes:
    """Return the value of a record: its number, and padding to 100 bytes."""
    return b"%010d" % number + b"." * 90


def number_of(value: bytes) -> int:
    """Return the number in a record's value."""
    return int(value[:10])


class Client(Protocol):
    """A client library; each step uses it as its documentation shows."""

    name: str

    def create_topic(self, servers: str, topic: str) -> None:
        """Create the topic with `PARTITIONS` partitions."""

    def produce(self, servers: str, topic: str, count: int, advance: Advance) -> None:
        """Write records 0 to `count` - 1, number n to partition n % PARTITIONS."""

    def consume(self, servers: str, topic: str, count: int, advance: Advance) -> list[Found]:
        """Join the topic's group as a new member, read `count` records, commit and leave."""


class KafkaPython:
    """https://pypi.org/project/kafka-python/"""

    name = "kafka-python"

    def create_topic(self, servers: str, topic: str) -> None:
        admin = kafka.admin.KafkaAdminClient(bootstrap_servers=servers)
        wanted = {"num_partitions": PARTITIONS, "replication_factor": BROKERS}
        admin.create_topics({topic: wanted})
        admin.close()

    def produce(self, servers: str, topic: str, count: int, advance: Advance) -> None:
        producer = kafka.KafkaProducer(
            bootstrap_servers=servers, enable_idempotence=True, acks="all", linger_ms=5
        )
        futures = []
        for number in range(count):
            future = producer.send(topic, value_of(number), partition=number % PARTITIONS)
            futures.append(future)
            if len(futures) % 1000 == 0:
                advance(1000)
        producer.flush(TIMEOUT_S)
        for future in futures:
            future.get(TIMEOUT_S)
        producer.close()

    def consume(self, servers: str, topic: str, count: int, advance: Advance) -> list[Found]:
        consumer = kafka.KafkaConsumer(
            topic,
            bootstrap_servers=servers,
            group_id=topic + GROUP_SUFFIX,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        found: list[Found] = []
        for _ in until_found(found, count):
            for batch in consumer.poll(5000, max_records=count - len(found)).values():
                found += [(r.partition, r.offset, number_of(r.value)) for r in batch]
                advance(len(batch))
        consumer.commit()
        consumer.close()
        return found


class AioKafka:
    """https://pypi.org/project/aiokafka/"""

    name = "aiokafka"

    def create_topic(self, servers: str, topic: str) -> None:
        async def run() -> None:
            admin = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=servers)
            await admin.start()
            response = await admin.create_topics(
                [aiokafka.admin.NewTopic(topic, PARTITIONS, BROKERS)]
            )
            await admin.close()
            for name, error_code, *_ in response.topic_errors:
                if error_code:
                    raise RuntimeError(f"creating {name}: error {error_code}")

        asyncio.run(run())

    def produce(self, servers: str, topic: str, count: int, advance: Advance) -> None:
        async def run() -> None:
            async with aiokafka.AIOKafkaProducer(
                bootstrap_servers=servers, enable_idempotence=True, acks="all", linger_ms=5
            ) as producer:
                futures = []
                for number in range(count):
                    partition = number % PARTITIONS
                    future = await producer.send(topic, value_of(number), partition=partition)
                    futures.append(future)
                    if len(futures) % 1000 == 0:
                        advance(1000)
                await asyncio.wait_for(asyncio.gather(*futures), TIMEOUT_S)

        asyncio.run(run())

    def consume(self, servers: str, topic: str, count: int, advance: Advance) -> list[Found]:
        found: list[Found] = []

        async def run() -> None:
            async with aiokafka.AIOKafkaConsumer(
                topic,
                bootstrap_servers=servers,
                group_id=topic + GROUP_SUFFIX,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            ) as consumer:
                for _ in until_found(found, count):
                    polled = await consumer.getmany(timeout_ms=500, max_records=count - len(found))
                    for batch in polled.values():
                        found.extend((r.partition, r.offset, number_of(r.value)) for r in batch)
                        advance(len(batch))
                await consumer.commit()

        asyncio.run(run())
        return found


class Confluent:
    """https://pypi.org/project/confluent-kafka/"""

    name = "confluent-kafka"

    def create_topic(self, servers: str, topic: str) -> None:
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": servers})
        wanted = confluent_kafka.admin.NewTopic(
            topic, num_partitions=PARTITIONS, replication_factor=BROKERS
        )
        admin.create_topics([wanted])[topic].result(TIMEOUT_S)

    def produce(self, servers: str, topic: str, count: int, advance: Advance) -> None:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": servers, "enable.idempotence": True, "acks": "all"}
        )
        errors: list[str] = []

        def delivered(error: Any, _message: Any) -> None:
            if error is not None:
                errors.append(str(error))

        for number in range(count):
            producer.produce(
                topic, value_of(number), partition=number % PARTITIONS, on_delivery=delivered
            )
            if number % 1000 == 999:
                producer.poll(0)
                advance(1000)
        left = producer.flush(TIMEOUT_S)
        if left or errors:
            raise RuntimeError(f"{left} records not delivered, {len(errors)} failed: {errors[:1]}")

    def consume(self, servers: str, topic: str, count: int, advance: Advance) -> list[Found]:
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": topic + GROUP_SUFFIX,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic])
        found: list[Found] = []
        for _ in until_found(found, count):
            batch = consumer.consume(min(1000, count - len(found)), timeout=0.5)
            for message in batch:
                if message.error() is not None:
                    raise confluent_kafka.KafkaException(message.error())
                found.append((message.partition(), message.offset(), number_of(message.value())))
            advance(len(batch))
        consumer.commit(asynchronous=False)
        consumer.close()
        return found


def until_found(found: list[Found], count: int) -> Iterator[None]:
    """Yield until `found` has `count` entries; raise TimeoutError after `TIMEOUT_S`."""
    end = time.monotonic() + TIMEOUT_S
    while len(found) < count:
        if time.monotonic() > end:
            raise TimeoutError(f"read {len(found)} of {count} records in {TIMEOUT_S:.0f} s")
        yield


CLIENTS: tuple[Client, ...] = (KafkaPython(), AioKafka(), Confluent())


@dataclass(slots=True)
class Outcome:
    """The steps of one client, their counts and durations."""

    client_name: str
    steps_done: list[str] = field(default_factory=list)
    written: int = 0
    read: int = 0
    produce_s: float = 0.0
    consume_s: float = 0.0
    errors: list[str] = field(default_factory=list)


def run_client(client: Client, servers: str, count: int, show: "Display") -> Outcome:
    """Run the steps of one client; the first that fails ends them and is named in `errors`."""
    outcome = Outcome(client.name)
    topic = f"demo-{client.name}"
    step = "create topic"
    try:
        with show.step(client.name, step, 0):
            client.create_topic(servers, topic)
        outcome.steps_done.append(step)

        step = "produce"
        started = time.perf_counter()
        with show.step(client.name, step, count) as advance:
            client.produce(servers, topic, count, advance)
        outcome.produce_s = time.perf_counter() - started
        outcome.written = count
        outcome.steps_done.append(step)

        started = time.perf_counter()
        step = "consume half"
        with show.step(client.name, step, count // 2) as advance:
            first = client.consume(servers, topic, count // 2, advance)
        outcome.steps_done += [step, "commit"]
        outcome.read = len(first)
        step = "resume"
        with show.step(client.name, step, count - len(first)) as advance:
            second = client.consume(servers, topic, count - len(first), advance)
        outcome.read += len(second)
        outcome.consume_s = time.perf_counter() - started
        outcome.steps_done.append(step)
    except Exception as error:  # noqa: BLE001 - any exception of a library is a failed check
        outcome.errors.append(f"{step}: {error!r}")
        return outcome
    outcome.errors += problems_of(first, second, count)
    return outcome


def problems_of(first: list[Found], second: list[Found], count: int) -> list[str]:
    """Return the errors in the records that both members read."""
    problems = []
    for step, found, expected_count in (
        ("consume half", first, count // 2),
        ("resume", second, count - count // 2),
    ):
        if len(found) != expected_count:
            problems.append(f"{step}: read {len(found)} records instead of {expected_count}")
    expected = {p: list(range(p, count, PARTITIONS)) for p in range(PARTITIONS)}
    read = first + second
    for partition, numbers in expected.items():
        here = [entry for entry in read if entry[0] == partition]
        got = [number for _, _, number in here]
        offsets = [offset for _, offset, _ in here]
        if len(set(got)) < len(got):
            problems.append(f"every record once: partition {partition} had records twice")
        if set(got) != set(numbers):
            missing = len(set(numbers) - set(got))
            problems.append(f"every record: partition {partition} lacks {missing}")
        if got != sorted(got):
            problems.append(f"order: partition {partition} came out of order")
        if offsets != list(range(len(numbers))):
            problems.append(f"offsets: partition {partition} has gaps or repetitions")
    return problems


class Display:
    """Progress: bars on a terminal, otherwise a line per finished step."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> "Display":
        self._progress.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._progress.stop()

    @contextmanager
    def step(self, client_name: str, step: str, count: int) -> Iterator[Advance]:
        """Show one step while it runs."""
        words = f"{client_name:<16} {step:<13}"
        task = self._progress.add_task(words, total=max(1, count))
        started = time.perf_counter()
        yield lambda more: self._progress.advance(task, more)
        self._progress.update(task, completed=max(1, count))
        if not self._console.is_terminal:
            records = f"{count:>7} records" if count else ""
            self._console.print(f"{words} {time.perf_counter() - started:6.2f} s {records}")


def table_of(outcomes: Iterable[Outcome]) -> Table:
    """Return the table of the results."""
    table = Table(title=f"mock-kafka, {BROKERS} brokers: what the clients did")
    for heading in ("client", "version"):
        table.add_column(heading, no_wrap=True)
    table.add_column("did", max_width=30)
    for heading in ("records", "written/s", "read/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("errors")
    for outcome in outcomes:
        table.add_row(
            outcome.client_name,
            version(outcome.client_name),
            ", ".join(outcome.steps_done),
            f"{outcome.read:,}",
            _per_second(outcome.written, outcome.produce_s),
            _per_second(outcome.read, outcome.consume_s),
            "[red]" + "\n".join(outcome.errors) if outcome.errors else "[green]none",
        )
    return table


def _per_second(count: int, seconds: float) -> str:
    return f"{count / seconds:,.0f}" if seconds else "-"


def main() -> int:
    """Run the demo; return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument(
        "--records", type=int, default=20_000, help="records per client (default: %(default)s)"
    )
    count: int = parser.parse_args().records
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # a pipe has no width
    try:
        with MockKafka(brokers=BROKERS) as cluster:
            console.print(f"bootstrap.servers={cluster.bootstrap_servers}", highlight=False)
            with Display(console) as show:
                outcomes = [
                    run_client(client, cluster.bootstrap_servers, count, show) for client in CLIENTS
                ]
            complaints = cluster.log_lines()
    except StartError as error:
        console.print(f"FAILED {error}", style="red", highlight=False, markup=False)
        return 1
    console.print(table_of(outcomes))
    failures = [f"{failed.client_name}: {error}" for failed in outcomes for error in failed.errors]
    failures += [f"the broker logged: {line}" for line in complaints]
    for failure in failures:
        console.print(f"FAILED {failure}", style="red", highlight=False, markup=False)
    if not failures:
        total = sum(outcome.read for outcome in outcomes)
        console.print(f"All {total:,} records were read once and in order.", highlight=False)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
