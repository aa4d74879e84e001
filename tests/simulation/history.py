"""What clients saw; the checkers read it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from client.producer.delivery import Delivered, Outcome

Place = tuple[str, int]
"""A partition: topic and index."""


@dataclass(slots=True)
class SentRecord:
    """One record of a producer and its outcome."""

    producer: str
    place: Place
    number: int
    """Counted from 0 for each producer and partition, in the order of sends."""
    value: bytes
    timestamp_ms: int
    sent_ms: int
    outcome: Outcome | None = None
    resolved_ms: int = 0

    @property
    def delivered(self) -> Delivered | None:
        """The outcome if the record was delivered."""
        return self.outcome if isinstance(self.outcome, Delivered) else None


@dataclass(frozen=True, slots=True)
class ProducerFacts:
    """The settings of a producer that the promises depend on."""

    name: str
    user: str
    acks: int
    is_idempotent: bool
    is_ordered: bool
    """Idempotent, or with one request in flight until its response comes.

    With acks=0 the last requests of a closed connection may arrive after those of the next one.
    """
    delivery_timeout_ms: int


class SeenRecord(NamedTuple):
    """A record that Fetch returned."""

    offset: int
    timestamp_ms: int
    value: bytes


class Assignment(NamedTuple):
    """The assignment that SyncGroup returned to one member.

    `member` is the instance id of a static member, whose member id may change in a generation.
    """

    group: str
    generation: int
    member: str
    places: tuple[Place, ...]
    time_ms: int


@dataclass(slots=True)
class Commit:
    """An OffsetCommit of one partition; `response_ms` is None if its effect is unknown."""

    group: str
    generation: int
    place: Place
    offset: int
    sent_ms: int
    response_ms: int | None = None
    is_refused: bool = False


class CommittedRead(NamedTuple):
    """An OffsetFetch of one partition; -1 without a committed offset."""

    group: str
    place: Place
    offset: int
    sent_ms: int
    response_ms: int


class Mutation(NamedTuple):
    """Partitions that an admin client created or deleted, or that were refused."""

    user: str
    partition_count: int
    is_admitted: bool
    sent_ms: int
    response_ms: int
    throttle_time_ms: int
    must_be_admitted: bool
    """Whether the client waited for the throttle time of its last refusal and did nothing else."""


class QuotaChange(NamedTuple):
    """A requested quota of a user; it may apply from `sent_ms` on."""

    user: str
    key: str
    value: float | None
    sent_ms: int


class ProduceSeen(NamedTuple):
    """One partition of a Produce response; `is_admitted` if this request stored it."""

    user: str
    node_id: int
    producer_id: int
    is_admitted: bool
    is_refused_by_quota: bool
    sent_ms: int
    handled_ms: int


class Throttle(NamedTuple):
    """A throttled response on a link, and when the next response was written."""

    link: int
    api: str
    throttle_time_ms: int
    written_ms: int
    next_written_ms: int


@dataclass(slots=True)
class History:
    """All observations of a world."""

    producers: dict[str, ProducerFacts] = field(default_factory=dict)
    sent: list[SentRecord] = field(default_factory=list)
    seen: dict[Place, dict[int, tuple[bytes, int]]] = field(default_factory=dict)
    """Records that consumers fetched: value and time of the first fetch, by offset."""
    rewritten: list[str] = field(default_factory=list)
    """Offsets at which consumers saw different records, or records out of order."""
    assignments: list[Assignment] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    committed_reads: list[CommittedRead] = field(default_factory=list)
    mutations: list[Mutation] = field(default_factory=list)
    quota_changes: list[QuotaChange] = field(default_factory=list)
    produced: list[ProduceSeen] = field(default_factory=list)
    id_attempts: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    """By broker and producer id, when Produce requests with it were sent."""
    throttles: list[Throttle] = field(default_factory=list)
    stops: list[tuple[int, int]] = field(default_factory=list)
    """Brokers that stopped, and when."""
    clock_moves: list[int] = field(default_factory=list)
    """When the clock of the brokers was moved forward, which shortens throttles."""
    deleted_topics: set[str] = field(default_factory=set)
    """Topics that a client requested to delete."""
    log: dict[Place, list[SeenRecord]] = field(default_factory=dict)
    """The records at the end of the world."""
    log_starts: dict[Place, int] = field(default_factory=dict)
    """The log start offsets at the end."""
    internal_errors: list[str] = field(default_factory=list)
    audit: list[str] = field(default_factory=list)
    """Findings of the broker's audit."""
    memory: list[str] = field(default_factory=list)
    """Bounds of memory that were exceeded."""

    def saw(self, place: Place, offset: int, value: bytes, now_ms: int) -> None:
        """Note a record that a consumer fetched."""
        known = self.seen.setdefault(place, {}).setdefault(offset, (value, now_ms))
        if known[0] != value:
            self.rewritten.append(f"{place} offset {offset}: {known[0]!r} became {value!r}")
