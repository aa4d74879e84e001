"""What was seen from outside: filled by the clients, judged by the checkers."""

from dataclasses import dataclass, field
from typing import NamedTuple

from client.producer.delivery import Delivered, Outcome

Place = tuple[str, int]
"""A partition: topic and index."""


@dataclass(slots=True)
class SentRecord:
    """One record of a producer and what became of it."""

    producer: str
    place: Place
    number: int
    """Counted from 0 by producer and partition, in the order of sends."""
    value: bytes
    timestamp_ms: int
    sent_ms: int
    outcome: Outcome | None = None
    resolved_ms: int = 0

    @property
    def delivered(self) -> Delivered | None:
        """The good outcome, if it is one."""
        return self.outcome if isinstance(self.outcome, Delivered) else None


@dataclass(frozen=True, slots=True)
class ProducerFacts:
    """What a producer promises."""

    name: str
    user: str
    acks: int
    is_idempotent: bool
    is_ordered: bool
    """Idempotent, or with one request in flight until its response comes.

    Without responses a connection that is cut may bring the last requests after those of the next.
    """
    delivery_timeout_ms: int


class SeenRecord(NamedTuple):
    """A record as Fetch gave it."""

    offset: int
    timestamp_ms: int
    value: bytes


class Assignment(NamedTuple):
    """What SyncGroup gave to one member.

    `member` is the instance id of a static one, whose ids may take turns within a generation.
    """

    group: str
    generation: int
    member: str
    places: tuple[Place, ...]
    time_ms: int


@dataclass(slots=True)
class Commit:
    """An OffsetCommit of one partition; `response_ms` None: nobody knows if it took effect."""

    group: str
    generation: int
    place: Place
    offset: int
    sent_ms: int
    response_ms: int | None = None
    is_refused: bool = False


class CommittedRead(NamedTuple):
    """An OffsetFetch of one partition; -1 where nothing is committed."""

    group: str
    place: Place
    offset: int
    sent_ms: int
    response_ms: int


class Mutation(NamedTuple):
    """Partitions that an administrator made or unmade, or was refused to."""

    user: str
    partition_count: int
    is_admitted: bool
    sent_ms: int
    response_ms: int
    throttle_time_ms: int
    must_be_admitted: bool
    """Whether the client has waited as long as its last refusal said, and did nothing else."""


class QuotaChange(NamedTuple):
    """A quota of a user that somebody asked for; it may hold from `sent_ms` on."""

    user: str
    key: str
    value: float | None
    sent_ms: int


class ProduceSeen(NamedTuple):
    """One partition of a Produce response; `is_admitted` when it was stored by this request."""

    user: str
    node_id: int
    producer_id: int
    is_admitted: bool
    is_refused_by_quota: bool
    sent_ms: int
    handled_ms: int


class Throttle(NamedTuple):
    """A response on a link that was throttled, and when the next response was written."""

    link: int
    api: str
    throttle_time_ms: int
    written_ms: int
    next_written_ms: int


@dataclass(slots=True)
class History:
    """Everything."""

    producers: dict[str, ProducerFacts] = field(default_factory=dict)
    sent: list[SentRecord] = field(default_factory=list)
    seen: dict[Place, dict[int, tuple[bytes, int]]] = field(default_factory=dict)
    """What consumers fetched: value and time of the first sight by offset."""
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
    """Brokers that ended, and when."""
    deleted_topics: set[str] = field(default_factory=set)
    """Topics that someone asked to delete."""
    log: dict[Place, list[SeenRecord]] = field(default_factory=dict)
    """The final reads."""
    log_starts: dict[Place, int] = field(default_factory=dict)
    """Where logs began at the end."""
    internal_errors: list[str] = field(default_factory=list)
    audit: list[str] = field(default_factory=list)
    """Findings of the broker's audit."""
    memory: list[str] = field(default_factory=list)
    """Bounds of memory that did not hold."""

    def saw(self, place: Place, offset: int, value: bytes, now_ms: int) -> None:
        """A consumer got a record."""
        known = self.seen.setdefault(place, {}).setdefault(offset, (value, now_ms))
        if known[0] != value:
            self.rewritten.append(f"{place} offset {offset}: {known[0]!r} became {value!r}")
