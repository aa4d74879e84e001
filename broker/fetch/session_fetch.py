"""Respond to the usual requests of a fetch session, with few partitions and without errors.

A session is an inline cache of its requests (KIP-227, ADR 26): what they have in common is checked
once, and a request with the same bytes around its offsets is read at the known places. Each other
request, and each partition with an error, takes the ordinary path (`fetch_wait.read_or_wait`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import NamedTuple

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import (
    CachedPartition,
    FetchPartitionData,
    FetchSession,
    SentPartition,
    must_send,
    next_epoch,
)
from broker.cluster.partition_log import PartitionLog
from broker.cluster.topics import Partition
from broker.fetch.fetch_context import FetchContext
from broker.fetch.fetch_params import CONSUMER_REPLICA_ID, ISOLATION_LEVELS, fetch_params
from broker.fetch.fetch_response import Fetch
from broker.fetch.fetch_wait import read_or_wait, respond_again
from broker.fetch.partition_read import FetchParams, find_partition, is_satisfied
from broker.fetch.short_response import encode_sent
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from protocol import fetch as fetch_codec
from protocol.errors import ErrorCode
from protocol.fetch import (
    LEADER_EPOCH_VERSION_MIN,
    PARTITIONS_MAX,
    TOPIC_ID_VERSION_MIN,
    FetchLayout,
    read_fetch,
    session_at,
)

LAYOUTS_MAX = 64
"""Layouts of requests that one session remembers, to bound memory."""
_KEY_BYTES = 18
"""Enough for the number of topics, a topic id and the number of its partitions."""

_REST_BYTES_MIN = 8
"""The shortest end of a request, from the session epoch on."""

_SESSION = Struct(">ii")


class Target(NamedTuple):
    """A partition of a session, and the response up to its index if it is the only one there."""

    partition: Partition
    log: PartitionLog
    before: bytes


@dataclass(slots=True, eq=False)
class SessionPlan:
    """What the requests of a session have in common.

    It is good while `Cluster.produce_version` and `FetchSession.change_count` stay. Without
    `targets` no request of the session is usual.
    """

    produce_version: int
    change_count: int
    api_version: int
    beginning: bytes
    """The body up to the session epoch."""
    params: FetchParams
    max_wait_ms: int
    targets: dict[CachedPartition, Target]
    end: bytes
    """The end of a response with one partition, behind its records."""
    empty: bytes
    """The response without partitions."""
    layouts: dict[tuple[int, bytes], FetchLayout] = field(default_factory=dict)


def fetch_in_session(
    context: RequestContext, frame: bytes | bytearray, start: int, end: int, cluster: Cluster
) -> object:
    """Return the body of a response, a `PendingResponse`, or None.

    With None nothing has changed, and the ordinary path has to take the request.
    """
    version = context.api_version
    epoch_at = start + session_at(version) + 4
    if (
        version < LEADER_EPOCH_VERSION_MIN
        or end - epoch_at < _REST_BYTES_MIN
        or cluster.quotas.clients.is_enabled
    ):
        return None
    session_id, epoch = _SESSION.unpack_from(frame, epoch_at - 4)
    session = cluster.fetch_sessions[context.broker_id].get(session_id)
    if session is None or session.epoch != epoch:
        return None
    plan = session.plan
    if (
        not isinstance(plan, SessionPlan)
        or plan.produce_version != cluster.produce_version
        or plan.change_count != session.change_count
        or plan.api_version != version
        or frame[start:epoch_at] != plan.beginning
    ):
        plan = session.plan = _plan(context, frame, start, end, session, cluster)
    if plan is None or not plan.targets or not _update(plan, session, frame, start, end):
        return None
    session.epoch = next_epoch(epoch)
    session.note_use(context.now_ms)
    read = _read(plan, session)
    if read is not None:
        sent, byte_count = read
        bytes_min = plan.params.bytes_min
        if plan.max_wait_ms <= 0 or byte_count >= bytes_min:
            return _encode(plan, session, sent)
        if bytes_min == 1:
            return _Waiting(context, cluster, plan, session).pending
    return read_or_wait(_fetch(context, cluster, plan, session, session.epoch))


def _update(
    plan: SessionPlan, session: FetchSession, frame: bytes | bytearray, start: int, end: int
) -> bool:
    """Note in the session what a request asks for; return False if it is unusual."""
    topics_at = start + len(plan.beginning) + 4
    key = end - start, bytes(frame[topics_at : topics_at + _KEY_BYTES])
    layout = plan.layouts.get(key)
    if layout is None or not layout.fits(frame, start, end):
        layout = _learn(plan, key, frame, start, end)
        if layout is None:
            return False
    named = []
    partitions, topic, targets = session.partitions, layout.topic, plan.targets
    for index, leader_epoch, offset, last_fetched_epoch, max_bytes in layout.rows(frame, start):
        cached = partitions.get((topic, index))
        if cached is None or last_fetched_epoch >= 0 or max_bytes < 0:
            return False
        partition, log, _before = targets[cached]
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return False
        if leader_epoch >= 0 and leader_epoch != partition.leader_epoch:
            return False
        named.append((cached, offset, leader_epoch, max_bytes))
    for cached, offset, leader_epoch, max_bytes in named:
        cached.fetch_offset = offset
        cached.current_leader_epoch = leader_epoch
        cached.max_bytes = max_bytes
    return True


def _learn(
    plan: SessionPlan,
    key: tuple[int, bytes],
    frame: bytes | bytearray,
    start: int,
    end: int,
) -> FetchLayout | None:
    """Remember where the offsets of a request are; return None if it has several topics."""
    request = read_fetch(plan.api_version, frame, start, end)
    layout = None
    if request is not None and len(request.topics) <= 1:
        layout = FetchLayout.of(plan.api_version, request, frame, start, end)
    if layout is not None:
        if len(plan.layouts) >= LAYOUTS_MAX:
            plan.layouts.clear()
        plan.layouts[key] = layout
    return layout


def _plan(
    context: RequestContext,
    frame: bytes | bytearray,
    start: int,
    end: int,
    session: FetchSession,
    cluster: Cluster,
) -> SessionPlan | None:
    """Return what requests like this one have in common; without targets if they are unusual.

    None if the request is too long, or malformed.
    """
    version = context.api_version
    if len(session.partitions) > PARTITIONS_MAX:
        return None
    request = read_fetch(version, frame, start, end)
    if request is None:
        return None
    params = fetch_params(context, request, cluster)
    is_usual = (
        params.replica_id == CONSUMER_REPLICA_ID
        and not params.rack_id
        and params.supports_zstd
        and params.bytes_max >= 0
        and request.isolation_level in ISOLATION_LEVELS
        and session.uses_topic_ids == (version >= TOPIC_ID_VERSION_MIN)
    )
    targets = _targets(version, session, params, cluster) if is_usual else {}
    is_flexible = version >= fetch_codec.FLEXIBLE_VERSION_MIN
    nothing = fetch_codec.encode_topics(version, ())
    return SessionPlan(
        cluster.produce_version,
        session.change_count,
        version,
        bytes(frame[start : start + session_at(version) + 4]),
        params,
        request.max_wait_ms,
        targets,
        b"\x00\x00\x00" if is_flexible else b"",  # tags of partition, topic and response
        fetch_codec.encode_response(version, ErrorCode.NONE, session.session_id, nothing),
    )


def _targets(
    version: int, session: FetchSession, params: FetchParams, cluster: Cluster
) -> dict[CachedPartition, Target]:
    """Return the partitions of a session; none at all if one of them is unusual."""
    targets = {}
    for cached in session.partitions.values():
        partition = find_partition(cluster, cached)
        topic = None if partition is None else cluster.topics.get(partition.topic_name)
        if (
            partition is None
            or topic is None
            or cached.topic_id not in {None, topic.topic_id}
            or partition.leader_id != params.broker_id
            or cached.current_leader_epoch not in {-1, partition.leader_epoch}
            or cached.last_fetched_epoch >= 0
            or cached.max_bytes < 0
        ):
            return {}
        beginning = fetch_codec.encode_topic(version, topic.name, cached.topic_id)
        if beginning is None:
            return {}
        parts = fetch_codec.encode_topics(version, [(beginning, 1, ())])
        response = fetch_codec.encode_response(version, ErrorCode.NONE, session.session_id, parts)
        is_flexible = version >= fetch_codec.FLEXIBLE_VERSION_MIN
        before = response[:-2] if is_flexible else response  # without the tags behind the topic
        targets[cached] = Target(partition, partition.log, before)
    return targets


def _read(plan: SessionPlan, session: FetchSession) -> tuple[list[SentPartition], int] | None:
    """Return what to send and how many bytes of records that are; None for something unusual.

    As `read_partitions` of a session, for partitions without errors.
    """
    params, targets = plan.params, plan.targets
    reads_committed = params.reads_committed
    remaining, byte_count = params.bytes_max, 0
    sent: list[SentPartition] = []
    for cached in session.partitions.values():
        partition, log, _before = targets[cached]
        offset, end_offset = cached.fetch_offset, log.log_end_offset
        start_offset = log.log_start_offset
        if (
            offset == end_offset
            and cached.high_watermark == end_offset
            and cached.log_start_offset == start_offset
        ):
            continue
        if not start_offset <= offset <= end_offset:
            return None
        stable_offset = partition.last_stable_offset
        data = FetchPartitionData(ErrorCode.NONE, end_offset, stable_offset, start_offset)
        readable_end = end_offset
        if reads_committed:
            if len(log.transaction_index):
                return None
            readable_end = stable_offset
            data.aborted_transactions = ()
        if offset < readable_end:
            batches = log.read(
                offset,
                min(cached.max_bytes, remaining),
                at_least_one=byte_count == 0,
                end_offset=readable_end,
            )
            data.records = batches[0] if len(batches) == 1 else b"".join(batches)
            if reads_committed and not batches:
                return None
            byte_count += len(data.records)
            remaining = max(0, remaining - len(data.records))
        if must_send(cached, data):
            sent.append((cached, data))
    return sent, byte_count


def _encode(plan: SessionPlan, session: FetchSession, sent: Sequence[SentPartition]) -> bytes:
    """Note what is sent, and return the body of the response."""
    if not sent:
        return plan.empty
    session.note_sent(sent)
    version = plan.api_version
    if len(sent) == 1:
        [(cached, data)] = sent
        partition = fetch_codec.encode_partition(
            version,
            cached.partition_index,
            ErrorCode.NONE,
            data.high_watermark,
            data.last_stable_offset,
            data.log_start_offset,
            () if plan.params.reads_committed else None,
            -1,
            len(data.records),
        )
        assert partition is not None
        return b"".join((plan.targets[cached].before, partition, data.records, plan.end))
    topics = encode_sent(version, sent)
    assert topics is not None
    return fetch_codec.encode_response(version, ErrorCode.NONE, session.session_id, topics)


def _fetch(
    context: RequestContext,
    cluster: Cluster,
    plan: SessionPlan,
    session: FetchSession,
    epoch: int,
) -> Fetch:
    """Return a request, which the session has taken, for the ordinary path."""
    partitions = list(session.partitions.values())
    return Fetch(
        context,
        cluster,
        plan.params,
        FetchContext(partitions, session=session, epoch=epoch),
        partitions,
        [],
        plan.max_wait_ms,
        is_short=True,
    )


class _Waiting:
    """A request that waits for a record. It is the waiter of all its partitions."""

    __slots__ = (
        "_cluster",
        "_context",
        "_deadline",
        "_epoch",
        "_is_due",
        "_plan",
        "_session",
        "pending",
    )

    def __init__(
        self, context: RequestContext, cluster: Cluster, plan: SessionPlan, session: FetchSession
    ) -> None:
        self._context = context
        self._cluster = cluster
        self._plan = plan
        self._session = session
        self._epoch = session.epoch
        self._is_due = False
        self.pending = PendingResponse(on_cancel=self._forget, on_force_complete=self._finish)
        due_ms = context.now_ms + plan.max_wait_ms
        self._deadline = cluster.timers.schedule(due_ms, self._finish)
        for target in plan.targets.values():
            target.log.waiters[self] = None

    def __call__(self, now_ms: int) -> None:
        """Look at the partitions again: one of them has changed."""
        if not self._is_due and self._is_satisfied():
            # Respond after the request that woke this one, with all records that it appended.
            self._is_due = True
            self._cluster.timers.schedule(now_ms, self._finish)

    def _is_satisfied(self) -> bool:
        plan = self._plan
        if not self._is_usual():
            return is_satisfied(self._cluster, plan.params, plan.targets)
        reads_committed = plan.params.reads_committed
        for cached, (partition, log, _before) in plan.targets.items():
            offset = cached.fetch_offset
            end_offset = partition.last_stable_offset if reads_committed else log.log_end_offset
            if offset < end_offset or not log.log_start_offset <= offset <= log.log_end_offset:
                return True
        return False

    def _is_usual(self) -> bool:
        """Whether nothing but records has changed since the request came."""
        plan, session, cluster = self._plan, self._session, self._cluster
        return (
            session.epoch == self._epoch
            and plan.change_count == session.change_count
            and plan.produce_version == cluster.produce_version
            and not cluster.quotas.clients.is_enabled
        )

    def _forget(self) -> None:
        self._cluster.timers.cancel(self._deadline)
        for target in self._plan.targets.values():
            target.log.waiters.pop(self, None)

    def _finish(self, now_ms: int) -> None:
        self._forget()
        plan, session = self._plan, self._session
        read = _read(plan, session) if self._is_usual() else None
        if read is not None:
            response: object = _encode(plan, session, read[0])
        else:
            fetch = _fetch(self._context, self._cluster, plan, session, self._epoch)
            response = respond_again(fetch, now_ms)
        self.pending.complete(response)
