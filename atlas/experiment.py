"""An experiment and its result: frozen values, which `atlas/rows.py` writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from atlas.situation import Situation

Phase = Literal["main", "afterwards", "close"]
Cell = Literal["as_expected", "differs", "wrong", "unsupported", "crashed"]
LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Experiment:
    """One client in one situation; `limit_s` bounds its duration in seconds of real time."""

    client: str
    situation: Situation
    seed: int = 1
    limit_s: float = LIMIT_S


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a workload, and the event that ended it.

    Times are ms since the experiment began. `outcome` is `done`, `failed`, `unsupported`,
    `unanswered` if the client had not ended it in time, or `ended` if the adapter's process ended.
    """

    number: int
    name: str
    arguments: Mapping[str, Any]
    phase: Phase
    sent_ms: float
    outcome: str = "unanswered"
    ended_ms: float | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a client reported of a record; `send` is the number of its command."""

    send: int
    at_ms: float
    offset: int | None = None
    error: str | None = None
    error_class: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as the broker saw it; times are ms since the experiment began.

    `latency_ms` is None if there was no response. `records` identifies the batches of a Produce
    request by topic and partition, each by its sequence and by its time.
    """

    number: int
    at_ms: int
    broker: int
    connection: int | None
    api: str
    api_version: int
    size_bytes: int
    outcome: str
    phase: Phase
    errors: tuple[str, ...] = ()
    throttle_time_ms: int = 0
    is_muted: bool = False
    fault: str | None = None
    latency_ms: float | None = None
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    records: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record in the log at the end; `transaction` is `open`, `committed`, `aborted` or None."""

    topic: str
    partition: int
    offset: int
    value: str | None
    transaction: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen in one experiment, from the client, the journal and the log.

    `has_happened` is False if the situation has rules and none has fired: the client never sent
    such a request. `log_starts` has the first offset of each partition that has lost records since,
    as when their retention time is over.
    """

    commands: tuple[Command, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    requests: tuple[SeenRequest, ...] = ()
    records: tuple[StoredRecord, ...] = ()
    log_starts: Mapping[tuple[str, int], int] = field(default_factory=dict)
    is_usable: bool | None = None
    connections_left: int = 0
    has_crashed: bool = False
    has_happened: bool = True


@dataclass(frozen=True, slots=True)
class Manners:
    """How a client behaved; docs/atlas.md has the meaning of each value.

    `reported` is `success`, `retriable`, `abortable`, `fatal`, `timeout`, `unknown` or `nothing`.
    Times are in ms, `throttle` is `honoured`, `early by N ms`, or None without a throttle.
    """

    retries: int
    backoff_ms: float | None
    throttle: str | None
    reported: str
    error: str | None
    error_class: str | None
    closed: str
    usable: bool | None
    outcome_ms: float | None


@dataclass(frozen=True, slots=True)
class Result:
    """The verdicts on an experiment and what they are from; times are in ms."""

    experiment: Experiment
    client_version: str
    cell: Cell
    reasons: tuple[str, ...]
    data: str
    manners: Manners
    observation: Observation
    log: str
    started_ms: int
    duration_ms: int
