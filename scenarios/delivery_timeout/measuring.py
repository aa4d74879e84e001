"""Measure every client in every phase, all at once on one cluster."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from client import clock
from mock_kafka import MockKafka, Request
from scenarios.delivery_timeout.client_adapters import OURS, Subject, SubjectKind
from scenarios.delivery_timeout.phases import Phase, rules
from scenarios.maven import CannotRunError

_PATIENCE = 2.5
"""How many times the delivery timeout the scenario waits for an outcome."""

_UNMEASURED = {"before", "primer"}
_STEP_S = 0.05
_WARM_UP_MS = 20_000
_WARM_UPS_AT_ONCE = 4
"""Few, so that the machine is idle enough for each to deliver a record before the deadline."""


class SeenRequest(NamedTuple):
    """A request as the broker saw it; `ended_ms` None while it is neither answered nor cut."""

    api: str
    received_ms: int
    ended_ms: int | None


@dataclass(slots=True)
class Measurement:
    """What was seen of one client in one phase; times in ms since the epoch."""

    phase: str
    subject: str
    judged: int = 0
    sent_ms: list[int] = field(default_factory=list)
    heard: list[tuple[int, int, str | None]] = field(default_factory=list)
    """Index of the record, when the client reported its outcome, and the error."""
    requests: list[SeenRequest] = field(default_factory=list)
    """From the first measured send on."""
    stored: Counter[str] = field(default_factory=Counter)
    problem: str | None = None

    @property
    def is_ours(self) -> bool:
        """Whether it is this project's producer."""
        return self.subject == OURS

    @property
    def sent_count(self) -> int:
        """How many records were sent."""
        return len(self.sent_ms)

    @property
    def stored_count(self) -> int:
        """How many of them the broker has."""
        return len(self.stored)

    @property
    def stored_max(self) -> int:
        """How often the broker has that record of which it has most."""
        return max(self.stored.values(), default=0)

    @property
    def heard_after_ms(self) -> int | None:
        """The longest time from a send to its outcome, or None while one is missing."""
        if self.problem is not None or len(self.heard) < self.sent_count:
            return None
        return max(heard_ms - self.sent_ms[index] for index, heard_ms, _ in self.heard)

    @property
    def outcome(self) -> str:
        """What the client reported of the judged record."""
        if self.problem is not None:
            return self.problem
        missing_count = self.sent_count - len(self.heard)
        if missing_count:
            return f"no outcome of {missing_count} of {self.sent_count} records"
        errors = {index: error for index, _, error in self.heard}
        return errors[self.judged] or "delivered"

    @property
    def is_in_order(self) -> bool:
        """Whether the client reported outcomes in the order of the sends."""
        indices = [index for index, _, _ in self.heard]
        return indices == sorted(indices)

    @property
    def produce_requests(self) -> list[SeenRequest]:
        """The Produce requests that reached the broker."""
        return [request for request in self.requests if request.api == "Produce"]


def measure(
    phases: Sequence[Phase], subjects: Sequence[SubjectKind], deadline_ms: int
) -> list[Measurement]:
    """Return a measurement for each pair, in this order; each pair has its own thread."""
    missing = {kind.name: kind.why_missing() for kind in subjects}
    pairs = [(phase, kind) for phase in phases for kind in subjects]
    with (
        MockKafka(config={"num.partitions": 1}) as cluster,
        ThreadPoolExecutor(len(pairs)) as threads,
    ):
        experiment = _Experiment(cluster, deadline_ms, len(pairs), missing)
        return list(threads.map(lambda pair: experiment.measure(*pair), pairs))


def seen_requests(
    requests: Sequence[Request], disconnects: Sequence[Mapping[str, Any]]
) -> list[SeenRequest]:
    """Return the requests of a journal; one without a response ends with its connection."""
    cut_ms = {disconnect["connection"]: disconnect["received_ms"] for disconnect in disconnects}
    return [
        SeenRequest(
            request.api,
            request.received_ms,
            cut_ms.get(request.connection)
            if request.duration_us is None
            else request.received_ms + request.duration_us // 1_000,
        )
        for request in requests
    ]


class _Experiment:
    """The state that the threads share: they begin to measure when the last of them is ready."""

    def __init__(
        self,
        cluster: MockKafka,
        deadline_ms: int,
        pair_count: int,
        missing: Mapping[str, str | None],
    ) -> None:
        self._cluster = cluster
        self._missing = missing
        self._deadline_ms = deadline_ms
        self._ready = threading.Barrier(pair_count)
        self._turn = threading.Semaphore(_WARM_UPS_AT_ONCE)

    def measure(self, phase: Phase, kind: SubjectKind) -> Measurement:
        """Measure one pair in the caller's thread."""
        measured = Measurement(phase.name, kind.name, phase.judged)
        measured.problem = self._missing[kind.name]
        name = f"{phase.name}-{kind.name}".replace(" ", "-").replace(",", "")
        subject: Subject | None = None
        try:
            if measured.problem is None:
                with self._turn:
                    subject = self._prepare(phase, kind, name)
        except CannotRunError as error:
            measured.problem = str(error)
        finally:
            self._ready.wait()  # the others do not wait for a client that is missing
        if subject is None:
            return measured
        began_ms = clock.wall_ms()
        _send_and_wait(subject, name, phase.records, self._deadline_ms, measured)
        subject.close()
        control = self._cluster.control
        seen = seen_requests(
            self._cluster.requests(client_id=name, has_messages=False, limit=1_000),
            control.ask("GET", "/v1/requests", query={"kind": "disconnect", "limit": 1_000}),
        )
        measured.requests = [request for request in seen if request.received_ms >= began_ms]
        measured.stored = Counter(
            text
            for record in self._cluster.records(name)
            if (text := (record.value or b"").decode()) not in _UNMEASURED
        )
        return measured

    def _prepare(self, phase: Phase, kind: SubjectKind, name: str) -> Subject:
        """Return a client that has a topic of the same name, and the phase's faults."""
        self._cluster.create_topic(name, 1)
        faults = rules(phase, name, name, self._deadline_ms)
        if not phase.is_topic_known:
            self._cluster.add_fault(**faults)
        subject = kind.make(self._cluster.bootstrap_servers, name, self._deadline_ms)
        if phase.is_topic_known:
            _deliver(subject, name, "before")
            self._cluster.add_fault(**faults)
        if phase.is_primed:
            _deliver(subject, name, "primer")
        return subject


def _deliver(subject: Subject, topic: str, value: str) -> None:
    """Send a record again and again until it is delivered."""
    give_up_ms = clock.now_ms() + _WARM_UP_MS
    outcomes: list[str | None] = ["not sent"]
    while outcomes != [None]:
        assert clock.now_ms() < give_up_ms, f"{value} was not delivered: {outcomes}"
        outcomes.clear()
        subject.send(topic, value.encode(), outcomes.append)
        while not outcomes and clock.now_ms() < give_up_ms:
            subject.pass_time(_STEP_S)


def _send_and_wait(
    subject: Subject, topic: str, count: int, deadline_ms: int, measured: Measurement
) -> None:
    outcomes: list[tuple[int, int, str | None]] = []

    def send(index: int) -> None:
        def heard(error: str | None) -> None:
            outcomes.append((index, clock.wall_ms(), error))

        measured.sent_ms.append(clock.wall_ms())
        subject.send(topic, b"%d" % index, heard)

    for index in range(count):
        send(index)
    give_up_ms = clock.now_ms() + int(deadline_ms * _PATIENCE)
    while len(outcomes) < count and clock.now_ms() < give_up_ms:
        subject.pass_time(_STEP_S)
    # An outcome reported later is reported because the client is closed.
    measured.heard = list(outcomes)
