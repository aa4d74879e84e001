"""Three brokers roll from Kafka's rule to KIP-758's, one after another, under running writers."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from client import clock
from mock_kafka import ConfigValue, MockKafka
from scenarios.rolling_upgrade.writers import Ours, Writer

Config = Mapping[str, ConfigValue | None]

BROKERS = (1, 2, 3)
CLASSIC: Config = {"producer.state.batches": 5, "broker.api.versions": "3.9"}
PHASE_1: Config = {"producer.state.batches": 1, "broker.api.versions": "4.4,InitProducerId=1"}
"""KIP-758's rule; version 1 of InitProducerId has no room for the window."""
PHASE_2: Config = {"producer.state.batches": 1, "broker.api.versions": None}

LIMIT = 5
"""Requests that an idempotent producer may have in flight without a window."""
STEADY_S = 2.0
SETTLE_S = 0.5
DOWN_S = 0.7
RESPONSE_DELAY_MS = 5
"""Each Produce response takes so long, so that requests are in flight together."""
LOST_RESPONSES = 0.01
"""The share of responses that are lost with their connection, so that batches are sent again."""


class Stage(NamedTuple):
    """A part of the upgrade; times in ms since the epoch."""

    name: str
    began_ms: int
    ended_ms: int


class Outage(NamedTuple):
    """A broker between its stop and its start."""

    broker: int
    began_ms: int
    ended_ms: int


@dataclass(frozen=True, slots=True)
class Written:
    """What became of the records of one writer."""

    name: str
    sent: int
    acknowledged_ms: Mapping[int, int]
    failed: Mapping[int, str]
    stored: Sequence[int]
    """Numbers of the records in the log, by offset."""
    requests: int
    """Produce requests that the brokers handled."""
    in_flight: Sequence[tuple[int, int]]

    @property
    def lost(self) -> int:
        """How many acknowledged records are not in the log."""
        return len(self.acknowledged_ms.keys() - set(self.stored))

    @property
    def duplicated(self) -> int:
        """How many records are in the log more than once."""
        return sum(count > 1 for count in Counter(self.stored).values())

    @property
    def out_of_order(self) -> int:
        """How many records stand behind one that was sent later."""
        newest, count = -1, 0
        for number in self.stored:
            count += number < newest
            newest = max(newest, number)
        return count

    @property
    def retries(self) -> int:
        """How many requests were sent again and handled; each has one record."""
        return self.requests - self.sent

    def in_flight_max(self, stage: Stage) -> int:
        """The most requests without a response that were seen at once in a stage."""
        seen = (count for at, count in self.in_flight if stage.began_ms <= at <= stage.ended_ms)
        return max(seen, default=0)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """One run: its stages in order, the outages, and what each writer wrote."""

    stages: Sequence[Stage]
    outages: Sequence[Outage]
    written: Sequence[Written]


def run_upgrade(kinds: Sequence[type[Writer]], steady_s: float = STEADY_S) -> Upgrade:
    """Upgrade a cluster twice while one writer of each kind writes to it."""
    config: dict[str, ConfigValue] = {"journal.entries.max": 100_000}
    for broker in BROKERS:
        config |= {f"broker.{broker}.{key}": value for key, value in CLASSIC.items() if value}
    with MockKafka(brokers=len(BROKERS), config=config) as kafka:
        kafka.delay(ms=RESPONSE_DELAY_MS, api="Produce")
        kafka.drop_response(api="Produce", probability=LOST_RESPONSES)
        writers = [make_writer(kafka, kind) for kind in kinds]
        for writer in writers:
            writer.start()
        try:
            return _Roll(kafka, writers, steady_s).run()
        finally:
            for writer in writers:
                writer.stop()


def make_writer(kafka: MockKafka, kind: type[Writer]) -> Writer:
    """A writer that is not started, with its topic of one partition."""
    topic = kind.name.replace(" ", "-")
    kafka.create_topic(topic, 1, len(BROKERS))
    return kind(kafka.bootstrap_servers, topic)


class _Roll:
    """The upgrade of a running cluster."""

    def __init__(self, kafka: MockKafka, writers: Sequence[Writer], steady_s: float) -> None:
        self._kafka = kafka
        self._writers = writers
        self._steady_s = steady_s
        self._stages: list[Stage] = []
        self._outages: list[Outage] = []

    def run(self) -> Upgrade:
        """All stages; returns when every record has an outcome."""
        self._wait_for_first_records()
        self._stage("classic")
        self._stage("to phase 1", PHASE_1)
        self._stage("phase 1")
        self._stage("to phase 2", PHASE_2)
        for writer in self._writers:
            if isinstance(writer, Ours):
                writer.restart()
        self._stage("phase 2")
        for writer in self._writers:
            writer.stop()
        return Upgrade(self._stages, self._outages, list(map(self._written, self._writers)))

    def _stage(self, name: str, config: Config | None = None) -> None:
        began_ms = clock.wall_ms()
        if config is None:
            _pause(self._steady_s)
        else:
            for broker in BROKERS:
                self._roll(broker, config)
        self._stages.append(Stage(name, began_ms, clock.wall_ms()))

    def _roll(self, broker: int, config: Config) -> None:
        """Restart a broker with other values while it leads; it leads again afterwards."""
        self._lead(broker)
        _pause(SETTLE_S)
        began_ms = clock.wall_ms()
        self._kafka.stop_broker(broker)
        _pause(DOWN_S)
        self._kafka.start_broker(broker, config=config)
        self._outages.append(Outage(broker, began_ms, clock.wall_ms()))
        self._lead(broker)
        _pause(SETTLE_S)

    def _lead(self, broker: int) -> None:
        for writer in self._writers:
            self._kafka.move_leader(writer.topic, 0, broker)

    def _wait_for_first_records(self) -> None:
        give_up_ms = clock.now_ms() + 30_000
        while not all(writer.acknowledged_ms for writer in self._writers):
            if clock.now_ms() > give_up_ms:
                idle = [writer.name for writer in self._writers if not writer.acknowledged_ms]
                raise RuntimeError(f"no record of {', '.join(idle)} was acknowledged")
            _pause(0.05)

    def _written(self, writer: Writer) -> Written:
        requests = self._kafka.requests(api="Produce", client_id=writer.topic, has_messages=False)
        return Written(
            writer.name,
            writer.sent,
            writer.acknowledged_ms,
            writer.failed,
            [int(record.value or b"-1") for record in self._kafka.records(writer.topic)],
            len(requests),
            writer.in_flight,
        )


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def broken_promises(upgrade: Upgrade) -> list[str]:
    """What must not happen in an upgrade, and did; nothing where all went well."""
    broken = []
    for written in upgrade.written:
        unheard = written.sent - len(written.acknowledged_ms)
        for count, what in (
            (unheard, "not acknowledged"),
            (written.lost, "acknowledged and not stored"),
            (written.duplicated, "stored twice"),
            (written.out_of_order, "out of order"),
        ):
            if count:
                broken.append(f"{written.name}: {count} records {what}")
        if written.retries <= 0:
            broken.append(f"{written.name}: nothing was sent again, so this run shows nothing")
        if written.name == Ours.name:
            *before, last = upgrade.stages
            if any(written.in_flight_max(stage) > LIMIT for stage in before):
                broken.append(
                    f"{written.name}: more than {LIMIT} requests in flight without a window"
                )
            if written.in_flight_max(last) <= LIMIT:
                broken.append(f"{written.name}: the window lifted no limit in {last.name}")
    return broken
