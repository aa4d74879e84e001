"""Run the clients and the disturbances for a while, and compare what they say with the logs."""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from mock_kafka import MockKafka
from tests.soak.disturbances import PARTITIONS, Disturbances
from tests.soak.log_numbers import LogNumbers
from tests.soak.programs import RunningClient, starters
from tests.soak.resources import Growth, Sample, growth, sample
from tests.soak.stored_numbers import StoredNumbers

RETENTION_MS = 40_000
CONFIG = {
    "log.retention.ms": RETENTION_MS,
    "log.retention.check.interval.ms": 2_000,
    # Retention deletes whole segments.
    "log.roll.ms": 2_000,
    "offsets.topic.replication.factor": 3,
    # What is kept on purpose has to reach its limit in the first minute.
    "audit.acknowledgements.max": 5_000,
    "journal.entries.max": 1_000,
}
TURN_S = 1.0
DISTURBANCE_TURNS = 2
AUDIT_TURNS = 10
PROGRESS_TURNS = 60
DRAIN_TIMEOUT_S = 150.0
"""Longer than the delivery timeout of all clients."""
MIB_PER_10_MIN_MAX = 1.0
JUDGED_FROM_S = 1_500.0
MIB_SHORT_MAX = 1.5
"""How much a shorter run may grow in all: a slope of a few minutes shows what is not full yet."""
OPEN_FILES_PER_10_MIN_MAX = 5.0


@dataclass(frozen=True, slots=True)
class ClientReport:
    """What one client did."""

    name: str
    acked: int
    failed: int
    stored: int
    read: int
    read_again: int
    """Records that the consumer read more than once, after rebalances: at least once."""
    lost: list[int]
    """Acknowledged and not stored."""
    duplicates: list[int]
    """Stored twice by the same producer id and epoch."""
    duplicates_of_new_epochs: int
    """Stored twice, because the client sent them again under another producer id or epoch."""
    unread: list[int]
    """Stored, and not read by the consumer."""
    is_finished: bool
    """Whether every record had an outcome in the end, and the program ended with status 0."""


@dataclass(frozen=True, slots=True)
class SoakReport:
    """The result of a soak; `violations` is empty if all promises held."""

    clients: list[ClientReport]
    disturbances: dict[str, int]
    growth: Growth
    samples: list[Sample]
    violations: list[str]


class Soak:
    """One run: five clients on a cluster of three brokers."""

    def __init__(self, kafka: MockKafka, folder: Path, rate: float, seed: int) -> None:
        self._kafka = kafka
        started = starters(folder)
        topics = {name: f"soak-{name}" for name in started}
        for topic in topics.values():
            kafka.create_topic(topic, PARTITIONS, 3)
        self._stored = {
            name: StoredNumbers(kafka, topic, PARTITIONS) for name, topic in topics.items()
        }
        self._disturbances = Disturbances(kafka, list(topics.values()), seed)
        self._findings: set[str] = set()
        self._samples: list[Sample] = []
        self._start_s = time.monotonic()
        self._open_files_before = sample(kafka.pid, 0.0).open_files
        self.clients: list[RunningClient] = [
            start(kafka.bootstrap_servers, topics[name], rate) for name, start in started.items()
        ]

    @property
    def time_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start_s

    def work(self, duration_s: float, show: Callable[[str], None]) -> None:
        """Disturb the clients for a while."""
        turn = 0
        while self.time_s < duration_s:
            turn += 1
            self._turn(turn)
            self._samples.append(sample(self._kafka.pid, self.time_s))
            if turn % DISTURBANCE_TURNS == 0:
                self._disturbances.disturb()
            if turn % PROGRESS_TURNS == 0:
                acked = " ".join(f"{client.name} {len(client.acked)}" for client in self.clients)
                last = self._samples[-1]
                mib = last.memory_bytes / 2**20
                show(f"{self.time_s:5.0f} s  {mib:.1f} MiB  {last.open_files} files  {acked}")
        self._disturbances.end()

    def drain(self) -> None:
        """Wait until every record has an outcome, and every stored one has been read."""
        for client in self.clients:
            client.stop_sending()
        end_s = self.time_s + DRAIN_TIMEOUT_S
        turn = 1
        while self.time_s < end_s and not all(map(self._is_drained, self.clients)):
            self._turn(turn)
            turn += 1

    def report(self) -> SoakReport:
        """End the clients and compare."""
        statuses = {client.name: client.end() for client in self.clients}
        self._turn(0)
        after = sample(self._kafka.pid, self.time_s)
        reports = [
            report_of(client, statuses[client.name], self._stored[client.name])
            for client in self.clients
        ]
        measured = growth(self._samples)
        violations = [
            *(violation for report in reports for violation in violations_of(report)),
            *sorted(self._findings),
            *violations_of_growth(measured),
            *(line for line in self._kafka.log_lines() if "error" in line or "Traceback" in line),
        ]
        counts = dict(sorted(self._disturbances.counts.items()))
        if after.open_files > self._open_files_before:
            violations.append(
                f"open files: {self._open_files_before} at first, {after.open_files} at the end"
            )
        return SoakReport(reports, counts, measured, self._samples, violations)

    def _turn(self, turn: int) -> None:
        time.sleep(TURN_S)
        for stored in self._stored.values():
            stored.read()
        if turn % AUDIT_TURNS == 0:
            self._findings |= {str(finding) for finding in self._kafka.audit().findings}

    def _is_drained(self, client: RunningClient) -> bool:
        places = self._stored[client.name].places
        return client.is_stopped.is_set() and places.keys() <= client.read.keys()


def report_of(
    client: RunningClient, status: int, stored: StoredNumbers | LogNumbers
) -> ClientReport:
    """Compare what a client said with what is stored; `status` is that of its program."""
    new_epochs = [found for found in stored.duplicates if found.has_new_epoch]
    return ClientReport(
        name=client.name,
        acked=len(client.acked),
        failed=len(client.failed),
        stored=len(stored.places),
        read=len(client.read),
        read_again=sum(count > 1 for count in client.read.values()),
        lost=sorted(client.acked - stored.places.keys()),
        duplicates=[found.number for found in stored.duplicates if not found.has_new_epoch],
        duplicates_of_new_epochs=len(new_epochs),
        unread=sorted(stored.places.keys() - client.read.keys()),
        is_finished=status == 0 and client.is_stopped.is_set(),
    )


def violations_of(client: ClientReport) -> list[str]:
    """Return which promises a client's records broke."""
    broken = {
        "acknowledged records are not stored": client.lost,
        "records are stored twice": client.duplicates,
        "stored records were not read": client.unread,
    }
    found = [
        f"{client.name}: {len(numbers)} {text}: {numbers[:10]}"
        for text, numbers in broken.items()
        if numbers
    ]
    if not client.is_finished:
        found.append(f"{client.name}: it did not finish")
    if not client.acked:
        found.append(f"{client.name}: nothing was acknowledged")
    return found


def violations_of_growth(measured: Growth) -> list[str]:
    """Return which resources of the broker grew."""
    is_long = measured.measured_s >= JUDGED_FROM_S
    grown_mib = measured.mib_per_10_min * (1 if is_long else measured.measured_s / 600)
    limit_mib = MIB_PER_10_MIN_MAX if is_long else MIB_SHORT_MAX
    found = []
    if grown_mib > limit_mib:
        found.append(f"memory grew by {measured.mib_per_10_min:.2f} MiB per 10 minutes")
    if is_long and measured.open_files_per_10_min > OPEN_FILES_PER_10_MIN_MAX:
        found.append(f"open files grew by {measured.open_files_per_10_min:.1f} per 10 minutes")
    return found


def soak(minutes: float, rate: float, seed: int, show: Callable[[str], None]) -> SoakReport:
    """Run a soak; `rate` is in records per second of each client.

    Raises:
        CannotRunError: a toolchain or a registry is missing.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        kafka = stack.enter_context(MockKafka(3, CONFIG, audit=True))
        run = Soak(kafka, folder, rate, seed)
        try:
            run.work(minutes * 60, show)
            run.drain()
            return run.report()
        finally:
            for client in run.clients:
                client.kill()
