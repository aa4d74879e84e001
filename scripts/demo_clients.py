"""The demo: three unmodified client libraries and a cluster of three brokers.

Each of them creates a topic, writes records idempotently with acks=all, reads half of them as a
member of a group, commits, and leaves. A second member reads the rest. Then the script checks that
every record was read once, in the order of its partition. The exit status is 1 if a check failed.
"""

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from mock_kafka import MockKafka, StartError
from scenarios.clients.deadline import Deadline
from scenarios.clients.interface import Client, Delivery, ProducerOptions, Record
from scenarios.clients.python_clients import CLIENTS

BROKERS = 3
PARTITIONS = 6
TIMEOUT_S = 30.0
LINGER_MS = 5
ADVANCE_RECORDS = 1_000
"""How often the progress bar moves."""
GROUP_SUFFIX = "-group"

Advance = Callable[[int], None]
"""Called with the number of further records that are done."""

Found = tuple[int, int, int]
"""Partition, offset and number of a record that was read."""


def value_of(number: int) -> bytes:
    """Return the value of a record: its number, filled up to 100 bytes."""
    return b"%010d" % number + b"." * 90


def number_of(value: bytes) -> int:
    """Return the number in a record's value."""
    return int(value[:10])


def produce(client: Client, servers: str, topic: str, count: int, advance: Advance) -> None:
    """Write records 0 to `count` - 1, number n to partition n % PARTITIONS.

    Raises:
        RuntimeError: a record was not delivered.
        TimeoutError: a record has no outcome.
    """
    records = [
        Record(value_of(number), partition=number % PARTITIONS, timestamp_ms=None)
        for number in range(count)
    ]
    deliveries: list[Delivery] = []

    def report(_index: int, delivery: Delivery) -> None:
        deliveries.append(delivery)
        if len(deliveries) % ADVANCE_RECORDS == 0:
            advance(ADVANCE_RECORDS)

    options = ProducerOptions(is_idempotent=True, linger_ms=LINGER_MS)
    with client.producer(servers, options=options) as producer:
        producer.send_records(topic, records, report)
        producer.flush(TIMEOUT_S)
    failures = [delivery for delivery in deliveries if delivery.error is not None]
    if failures:
        raise RuntimeError(f"{len(failures)} records failed: {failures[0].error!r}")


def consume(client: Client, servers: str, topic: str, count: int, advance: Advance) -> list[Found]:
    """Read `count` records as a new member of the topic's group, commit, and leave.

    Raises:
        TimeoutError: there are not so many records.
    """
    found: list[Found] = []
    with contextlib.closing(client.join(servers, topic, topic + GROUP_SUFFIX)) as member:
        deadline = Deadline(TIMEOUT_S)
        while len(found) < count and deadline.holds(f"{count} records, read {len(found)}"):
            records = member.poll(count - len(found))
            found += [(r.partition, r.offset, number_of(r.value or b"")) for r in records]
            advance(len(records))
        member.commit()
    return found


@dataclass(slots=True)
class ClientRun:
    """The steps of one client in one run, and their durations."""

    client_name: str
    steps_done: list[str] = field(default_factory=list)
    written: int = 0
    read: int = 0
    produce_s: float = 0.0
    consume_s: float = 0.0
    errors: list[str] = field(default_factory=list)


def run_client(client: Client, servers: str, count: int, show: "Display") -> ClientRun:
    """Run all steps of one client; the first one that fails is the last, and named in `errors`."""
    outcome = ClientRun(client.name)
    topic = f"demo-{client.name}"
    step = "create topic"
    try:
        with show.step(client.name, step, 0):
            client.create_topic(servers, topic, PARTITIONS, BROKERS)
        outcome.steps_done.append(step)

        step = "produce"
        started = time.perf_counter()
        with show.step(client.name, step, count) as advance:
            produce(client, servers, topic, count, advance)
        outcome.produce_s = time.perf_counter() - started
        outcome.written = count
        outcome.steps_done.append(step)

        started = time.perf_counter()
        step = "consume half"
        with show.step(client.name, step, count // 2) as advance:
            first = consume(client, servers, topic, count // 2, advance)
        outcome.steps_done += [step, "commit"]
        outcome.read = len(first)
        step = "resume"
        with show.step(client.name, step, count - len(first)) as advance:
            second = consume(client, servers, topic, count - len(first), advance)
        outcome.read += len(second)
        outcome.consume_s = time.perf_counter() - started
        outcome.steps_done.append(step)
    except Exception as error:  # noqa: BLE001 - any error of a library is a failed check
        outcome.errors.append(f"{step}: {error!r}")
        return outcome
    outcome.errors += problems_of(first, second, count)
    return outcome


def problems_of(first: list[Found], second: list[Found], count: int) -> list[str]:
    """Return what is wrong with the records that the two members read."""
    problems = []
    for step, found, record_count in (
        ("consume half", first, count // 2),
        ("resume", second, count - count // 2),
    ):
        if len(found) != record_count:
            problems.append(f"{step}: read {len(found)} records instead of {record_count}")
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
    """Progress: bars on a terminal, one line per finished step anywhere else."""

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


def table_of(outcomes: Iterable[ClientRun]) -> Table:
    """Return the table of all clients."""
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
    """Run the demonstration and return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument(
        "--records", type=int, default=20_000, help="per client (default: %(default)s)"
    )
    count: int = parser.parse_args().records
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # a log file has no width
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
    failures = [f"{one.client_name}: {error}" for one in outcomes for error in one.errors]
    failures += [f"the broker logged: {line}" for line in complaints]
    for failure in failures:
        console.print(f"FAILED {failure}", style="red", highlight=False, markup=False)
    if not failures:
        total = sum(outcome.read for outcome in outcomes)
        console.print(f"All {total:,} records were read once and in order.", highlight=False)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
