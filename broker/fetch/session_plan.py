"""What the requests of a short fetch session have in common: an inline cache (KIP-227, ADR 26).

It is checked once. A request with the same bytes around its offsets is read at the known places.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition, FetchSession
from broker.cluster.partition_log import RUN_BATCHES, SHORT_BATCHES_MAX, PartitionLog
from broker.cluster.topics import Partition, Topic
from broker.fetch.fetch_params import CONSUMER_REPLICA_ID, ISOLATION_LEVELS, fetch_params
from broker.fetch.partition_read import FetchParams
from broker.request.client_charge import ClientCharge
from broker.request.context import RequestContext
from protocol import fetch as fetch_codec
from protocol.errors import ErrorCode
from protocol.fetch import TOPIC_ID_VERSION_MIN, ShortFetch, read_fetch
from protocol.fetch_layout import FetchLayout, read_rows
from protocol.pacing import may_pause

LAYOUTS_MAX = 64
"""Layouts of requests that one session remembers, to bound memory."""
_CORRELATION_ID_BYTES = 4
_TAGS = b"\x00\x00\x00"
"""No tagged fields of partition, topic and response."""
_KEY_BYTES = 18
"""Enough for the number of topics, a topic id and the number of its partitions."""


class PlannedPartition(NamedTuple):
    """A partition of a session, and what responses say of its topic.

    `before` is the response up to its index if it is the only partition there.
    """

    partition: Partition
    log: PartitionLog
    topic: str | UUID
    topic_beginning: bytes
    before: bytes


class OnlyPartition(NamedTuple):
    """The partition of a session that has one, and what responses with its newest batch have.

    `head` is between their correlation id and the index of the partition, with the tags of the
    frame's header; `tail` is behind the records. `fixed_bytes` counts all of the frame behind its
    size, but the records and their size.
    """

    cached: CachedPartition
    log: PartitionLog
    partition: Partition
    head: bytes
    tail: bytes
    fixed_bytes: int


@dataclass(slots=True, eq=False)
class SessionPlan:
    """What the requests of a session have in common.

    It is good while `Cluster.generation` and `FetchSession.change_count` stay. Without
    `targets` no request of the session is usual. If quotas of clients are set, `is_of` has to be
    true as well.
    """

    charge: ClientCharge
    generation: int
    change_count: int
    api_version: int
    beginning: bytes
    """The body up to the session epoch."""
    params: FetchParams
    max_wait_ms: int
    targets: dict[CachedPartition, PlannedPartition]
    is_flexible: bool
    header: bytes
    """The response up to the number of its topics."""
    middle: bytes
    """What a partition has between its offsets and the size of its records."""
    empty: bytes
    """The response without partitions."""
    layouts: dict[tuple[int, bytes], FetchLayout] = field(default_factory=dict)
    only: OnlyPartition | None = field(init=False, default=None)
    """Set if the session has one partition."""
    may_wait: bool = field(init=False)
    """Whether a request without records waits for some."""

    uncharged_bytes: int = field(init=False)
    """Bytes of a response's frame that no quota counts: correlation id and tags."""

    def __post_init__(self) -> None:
        self.uncharged_bytes = _CORRELATION_ID_BYTES + self.is_flexible
        self.may_wait = self.max_wait_ms > 0 and self.params.bytes_min > 0
        if len(self.targets) == 1:
            [(cached, target)] = self.targets.items()
            head = b"\x00" + target.before if self.is_flexible else target.before
            tail = _TAGS if self.is_flexible else b""
            fixed_bytes = (
                _CORRELATION_ID_BYTES
                + len(head)
                + fetch_codec.DATA.size
                + len(self.middle)
                + len(tail)
            )
            self.only = OnlyPartition(cached, target.log, target.partition, head, tail, fixed_bytes)

    def is_of(self, principal: str, client_id: str | None) -> bool:
        """Whether it is for this principal and client id, which quotas depend on."""
        return self.charge.principal == principal and self.charge.client_id == client_id

    def is_good(self, session: FetchSession, cluster: Cluster) -> bool:
        """Whether nothing but offsets and logs has changed since the plan was made."""
        return self.change_count == session.change_count and self.generation == cluster.generation


def plan_for(
    context: RequestContext, request: ShortFetch, session: FetchSession, cluster: Cluster
) -> SessionPlan:
    """Return what requests like this one have in common; without targets if they are unusual."""
    version = context.api_version
    generation, change_count = cluster.generation, session.change_count
    params = fetch_params(context, request, cluster)
    is_usual = (
        params.replica_id == CONSUMER_REPLICA_ID
        and not params.rack_id
        and params.supports_zstd
        and params.bytes_max >= 0
        and request.isolation_level in ISOLATION_LEVELS
        and session.uses_topic_ids == (version >= TOPIC_ID_VERSION_MIN)
    )
    nothing = fetch_codec.encode_topics(version, ())
    quotas = cluster.quotas.brokers[context.broker_id]
    return SessionPlan(
        ClientCharge(quotas, quotas.fetch, context.principal, context.client_id, context.now_ms),
        generation,
        change_count,
        version,
        fetch_codec.request_beginning(version, request),
        params,
        request.max_wait_ms,
        _targets(version, session, params, cluster) if is_usual else {},
        version >= fetch_codec.FLEXIBLE_VERSION_MIN,
        fetch_codec.encode_response(version, ErrorCode.NONE, session.session_id, ()),
        fetch_codec.encode_middle(version, () if params.reads_committed else None, -1) or b"",
        fetch_codec.encode_response(version, ErrorCode.NONE, session.session_id, nothing),
    )


def _targets(
    version: int, session: FetchSession, params: FetchParams, cluster: Cluster
) -> dict[CachedPartition, PlannedPartition]:
    """Return the partitions of a session; none at all if one of them is unusual."""
    targets: dict[CachedPartition, PlannedPartition] = {}
    topic: Topic | None = None
    beginning = before = b""
    broker_id = params.broker_id
    for cached in session.partitions.values():
        if topic is None or cached.topic_name != topic.name:
            topic = None if cached.topic_name is None else cluster.topics.get(cached.topic_name)
            found = None if topic is None else _beginnings(version, session, topic)
            if topic is None or found is None:
                return {}
            beginning, before = found
        topic_id = cached.topic_id
        partition = topic.partition(cached.partition_index)
        if (
            partition is None
            or (topic_id is not None and topic_id != topic.topic_id)
            or partition.leader_id != broker_id
            or cached.current_leader_epoch not in {-1, partition.leader_epoch}
            or cached.last_fetched_epoch >= 0
            or cached.max_bytes < 0
        ):
            return {}
        targets[cached] = PlannedPartition(
            partition, partition.log, topic_id or topic.name, beginning, before
        )
    return targets


def _beginnings(version: int, session: FetchSession, topic: Topic) -> tuple[bytes, bytes] | None:
    """Return the beginnings of a topic and of a response with this topic; None for a long name."""
    beginning = fetch_codec.encode_topic(version, topic.name, topic.topic_id)
    if beginning is None:
        return None
    parts = fetch_codec.encode_topics(version, [(beginning, 1, ())])
    response = fetch_codec.encode_response(version, ErrorCode.NONE, session.session_id, parts)
    is_flexible = version >= fetch_codec.FLEXIBLE_VERSION_MIN
    return beginning, response[:-2] if is_flexible else response  # without tags behind the topic


@may_pause
def layout_of(
    plan: SessionPlan, frame: bytes | bytearray, start: int, end: int
) -> FetchLayout | None:
    """Return the layout of a request that begins as the plan says; None if it has several topics.

    It is remembered.
    """
    topics_at = start + len(plan.beginning) + 4
    key = end - start, bytes(frame[topics_at : topics_at + _KEY_BYTES])
    layout = plan.layouts.get(key)
    if layout is None or not layout.fits(frame, start, end):
        layout = None
        request = read_fetch(plan.api_version, frame, start, end)
        if request is not None and len(request.topics) <= 1:
            layout = FetchLayout.of(plan.api_version, request, frame, start, end)
            if len(plan.layouts) >= LAYOUTS_MAX:
                plan.layouts.clear()
            plan.layouts[key] = layout
    return layout


def take_rows(
    plan: SessionPlan, session: FetchSession, topic: str | UUID, rows: bytes | bytearray
) -> bool:
    """Note in the session what a request asks for; return False if it is unusual.

    `rows` are the bytes of its partitions. With False nothing has changed.
    """
    read = read_rows(rows, is_flexible=plan.is_flexible)
    if read is None:
        return False
    named = []
    partitions, targets = session.partitions, plan.targets
    for index, leader_epoch, offset, max_bytes in read:
        cached = partitions.get((topic, index))
        if cached is None or max_bytes < 0:
            return False
        target = targets[cached]
        log = target.log
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return False
        if leader_epoch >= 0 and leader_epoch != target.partition.leader_epoch:
            return False
        named.append(cached)
    for cached, (_index, leader_epoch, offset, max_bytes) in zip(named, read, strict=True):
        cached.fetch_offset = offset
        cached.current_leader_epoch = leader_epoch
        cached.max_bytes = max_bytes
    return True


class NamedPartition:
    """The partition of a session that has one, as equal requests name it except for its offset."""

    __slots__ = ("_cached", "_leader_epoch", "_log", "_max_bytes")

    def __init__(self, cached: CachedPartition, log: PartitionLog) -> None:
        """The session has taken a request that names it, while its plan was good."""
        self._cached = cached
        self._log = log
        self._leader_epoch = cached.current_leader_epoch
        self._max_bytes = cached.max_bytes

    def take_offset(self, offset: int) -> bool:
        """Note in the session what a request asks for, as `take_rows` does."""
        log, cached = self._log, self._cached
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return False
        cached.fetch_offset = offset
        cached.current_leader_epoch = self._leader_epoch
        cached.max_bytes = self._max_bytes
        return True


def named_partition(
    plan: SessionPlan, topic: str | UUID, rows: bytes | bytearray
) -> NamedPartition | None:
    """Return the only partition of a session if the request that it took last names it."""
    if plan.only is None:
        return None
    cached = plan.only.cached
    row = cached.partition_index, cached.current_leader_epoch, cached.fetch_offset, cached.max_bytes
    is_named = cached.key[0] == topic and read_rows(rows, is_flexible=plan.is_flexible) == [row]
    return NamedPartition(cached, plan.only.log) if is_named else None


Found = tuple[CachedPartition, PlannedPartition, int, int, int, Sequence[bytes], int]
"""A partition to send, with high watermark, last stable offset, log start offset, batches, bytes.

A plain tuple, for the hot path.
"""


def _are_many(batches: Sequence[bytes], found: Sequence[Found]) -> bool:
    """Return whether a request is long that has read these batches after those found before."""
    return len(batches) + sum(len(entry[5]) for entry in found) > SHORT_BATCHES_MAX


def read_session(plan: SessionPlan, session: FetchSession) -> tuple[list[Found], int] | None:
    """Return what to send and how many bytes of records that are; None for something unusual.

    As `read_partitions` of a session, for partitions without errors.
    """
    params, targets = plan.params, plan.targets
    reads_committed = params.reads_committed
    remaining, total_bytes = params.bytes_max, 0
    found: list[Found] = []
    for cached in session.partitions.values():
        target = targets[cached]
        log = target.log
        offset, end_offset, start_offset = (
            cached.fetch_offset,
            log.log_end_offset,
            log.log_start_offset,
        )
        has_moved = cached.high_watermark != end_offset or cached.log_start_offset != start_offset
        if offset == end_offset and not has_moved:
            continue
        if not start_offset <= offset <= end_offset:
            return None
        partition = target.partition
        readable_end = stable_offset = partition.last_stable_offset
        if not reads_committed:
            readable_end = end_offset
        elif len(log.transaction_index):
            return None
        batches: Sequence[bytes] = ()
        record_bytes = 0
        if offset < readable_end:
            batches = log.read_short(
                offset,
                min(cached.max_bytes, remaining),
                at_least_one=total_bytes == 0,
                end_offset=readable_end,
            )
            if len(batches) == 1:
                record_bytes = len(batches[0])
            elif batches:
                record_bytes = sum(map(len, batches))
                if len(batches) > RUN_BATCHES and _are_many(batches, found):
                    return None
            elif reads_committed:
                return None
            total_bytes += record_bytes
            remaining = max(0, remaining - record_bytes)
        if record_bytes or has_moved:
            found.append(
                (cached, target, end_offset, stable_offset, start_offset, batches, record_bytes)
            )
    return found, total_bytes
