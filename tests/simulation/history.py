"""What clients saw; the checkers read it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from broker.audit.comparison import Finding
from broker.cluster.changed_offsets import LogCut
from client.producer.delivery import Delivered, DeliveryOutcome

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
    outcome: DeliveryOutcome | None = None
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


class LeaderChange(NamedTuple):
    """A partition got another leader (-1: none), or a new epoch."""

    time_ms: int
    leader_id: int
    leader_epoch: int


class Served(NamedTuple):
    """A partition that a broker served without an error, as its leader.

    `leader_epoch` is the one that the request named, or -1.
    """

    api: str
    place: Place
    node_id: int
    leader_epoch: int
    sent_ms: int
    handled_ms: int


class StoredBatch(NamedTuple):
    """The header of a batch that Fetch returned at the end."""

    base_offset: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int


class Fetched(NamedTuple):
    """One Fetch of a member: the partitions and offsets that it asked for, and when."""

    member: str
    offsets: dict[Place, int]
    named: frozenset[Place]
    """The partitions in the response."""
    sent_ms: int
    handled_ms: int


class Accepted(NamedTuple):
    """A request of a group's member that its coordinator accepted."""

    group: str
    api: str
    generation: int
    sent_ms: int


class Deletion(NamedTuple):
    """A DeleteRecords of one partition; without a response its effect is unknown."""

    place: Place
    offset: int
    low_watermark: int | None
    sent_ms: int
    handled_ms: int


@dataclass(slots=True)
class Alteration:
    """A key of a topic's configuration that an admin client sets.

    `response_ms` is None without a response. A request that was sent several times may still take
    effect after the response.
    """

    topic: str
    key: str
    value: str
    sent_ms: int
    response_ms: int | None = None
    is_refused: bool = False
    was_repeated: bool = False


class ConfigSeen(NamedTuple):
    """What a topic's configuration was at some time."""

    topic: str
    values: dict[str, str]
    time_ms: int


class AcknowledgedBatch(NamedTuple):
    """A Produce request of one idempotent batch that was stored, as it was sent."""

    request: Any
    version: int
    place: Place
    producer_id: int
    producer_epoch: int
    base_sequence: int
    base_offset: int
    """-1 if the response did not have it."""


class Metered(NamedTuple):
    """A request that a byte quota counts: its bytes, and the throttle time of its response."""

    user: str
    node_id: int
    byte_count: int
    throttle_time_ms: int
    sent_ms: int
    handled_ms: int


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
    deleted_topics: set[str] = field(default_factory=set)
    """Topics that a client requested to delete."""
    log: dict[Place, list[SeenRecord]] = field(default_factory=dict)
    """The records at the end of the world."""
    log_starts: dict[Place, int] = field(default_factory=dict)
    """The log start offsets at the end."""
    cuts: dict[Place, Sequence[LogCut]] = field(default_factory=dict)
    """Where and when logs lost their ends."""
    out_of_sync_elections: dict[Place, list[int]] = field(default_factory=dict)
    """When a replica became leader that was not in sync, by the clock of the brokers."""
    lost_by_elections: list[Finding] = field(default_factory=list)
    """What the broker's audit says that elections have lost."""
    elects_unclean: bool = False
    """Whether a replica that is not in sync may lead, and committed records be lost."""
    internal_errors: list[str] = field(default_factory=list)
    audit: list[str] = field(default_factory=list)
    """Other findings of the broker's audit."""
    memory: list[str] = field(default_factory=list)
    """Bounds of memory that were exceeded."""
    batches: dict[Place, list[StoredBatch]] = field(default_factory=dict)
    """The batches at the end of the world."""
    leaders: dict[Place, list[LeaderChange]] = field(default_factory=dict)
    served: list[Served] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    """Leaders, epochs and ISRs that contradict each other, and appends that the ISR forbids."""
    outages: dict[int, list[tuple[int, int | None]]] = field(default_factory=dict)
    """By broker, from when to when it was stopped or isolated; None while it is."""
    availability: list[str] = field(default_factory=list)
    """Responses of brokers that were stopped or isolated."""
    fetched: list[Fetched] = field(default_factory=list)
    generations: dict[str, dict[int, int]] = field(default_factory=dict)
    """By group, its generations and when a member first got a response with them."""
    accepted: list[Accepted] = field(default_factory=list)
    late_commits: list[str] = field(default_factory=list)
    """Commits that were stored when their generation was over."""
    fetch_sessions: list[str] = field(default_factory=list)
    """Responses that do not fit the session of their request."""
    session_owners: dict[tuple[int, int], Any] = field(default_factory=dict)
    """By broker and id of a fetch session, the request that opened it."""
    acknowledged: list[AcknowledgedBatch] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    """Requests that arrived again, and were answered wrongly."""
    sessions: list[str] = field(default_factory=list)
    """Members that were removed before their session could have ended."""
    deletions: list[Deletion] = field(default_factory=list)
    alterations: list[Alteration] = field(default_factory=list)
    configs: list[ConfigSeen] = field(default_factory=list)
    metered: list[Metered] = field(default_factory=list)
    authentication: list[str] = field(default_factory=list)
    """Requests that were served after the end of a session, or under another name."""
    protocol: list[str] = field(default_factory=list)
    """Responses that a client could not read."""
    timers: list[str] = field(default_factory=list)
    """Timers of the brokers that ran late."""
    has_upgrades: bool = False
    """Whether a broker was started with another rule for duplicates."""
    clock_shifts: list[tuple[int, int]] = field(default_factory=list)
    """When the clock of the brokers was moved forward, and by how much, in ms."""
    calm_from_ms: int | None = None
    """When the last fault ended; None in the middle of them."""
    has_retention: bool = False
    """Whether the world may delete records to save memory."""
    calm_delay_ms: int = 0
    """The longest delay of the network from then on."""

    def quota_changes_of(self, user: str) -> list[QuotaChange]:
        """Return the quotas that a user ever had."""
        return [change for change in self.quota_changes if change.user == user]

    def is_out(self, node_id: int, time_ms: int) -> bool:
        """Return whether a broker was stopped or isolated before and after a time."""
        return any(
            start_ms < time_ms and (end_ms is None or time_ms < end_ms)
            for start_ms, end_ms in self.outages.get(node_id, ())
        )

    def broker_ms(self, begin_ms: int, end_ms: int) -> int:
        """Return how much time the brokers may have seen pass between two times."""
        shifts_ms = sum(
            shift_ms for time_ms, shift_ms in self.clock_shifts if begin_ms <= time_ms <= end_ms
        )
        return end_ms - begin_ms + shifts_ms

    def saw(self, place: Place, offset: int, value: bytes, now_ms: int) -> None:
        """Note a record that a consumer fetched."""
        known = self.seen.setdefault(place, {}).setdefault(offset, (value, now_ms))
        if known[0] != value:
            self.rewritten.append(f"{place} offset {offset}: {known[0]!r} became {value!r}")
