"""Respond to Fetch requests that equal an earlier one of their connection, except for offsets.

An inline cache in front of that of the fetch session (ADR 26): the same client sends the same bytes
again, so that header and route are known, too. The ordinary dispatch handles the first requests and
everything unusual.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import FetchSession, next_epoch
from broker.faults.table import FaultTable
from broker.fetch.fetch_wait import read_or_wait
from broker.fetch.newest_batch import frame_newest, has_to_wait
from broker.fetch.session_fetch import SessionWait, ordinary_fetch
from broker.fetch.session_plan import (
    Found,
    NamedPartition,
    SessionPlan,
    layout_of,
    named_partition,
    read_session,
    take_rows,
)
from broker.fetch.session_response import encode_found
from broker.journal.journal import Journal
from broker.journal.lines import Entry, size_of
from broker.request.client_charge import TIME_MAX_NS
from broker.request.context import RequestContext, Sender, context_of_frame
from broker.request.encoding import BugReporter, close_on_error, closed_by, frame_parts
from broker.request.session import Peer
from broker.responses import PARTS_BYTES_MIN, CompletedResponse, EncodedParts, PendingFrame
from protocol import codec
from protocol.fetch import (
    FLEXIBLE_VERSION_MIN,
    LEADER_EPOCH_VERSION_MIN,
    PARTITIONS_MAX,
    session_at,
)
from protocol.fetch_layout import FetchFrameLayout
from protocol.framing import SIZE_BYTES, Frame
from protocol.pacing import may_pause

LAYOUTS_MAX = 16
"""Sizes of frames that a connection remembers, to bound memory."""
PAUSE_MAX = 1023
"""Requests between two that are learnt, for a client whose requests never have the same layout."""
PARTITION_BYTES_MAX = 1024
"""More than a partition takes in a response without its records, or than all else takes."""
NEWEST_BYTES_MAX = PARTS_BYTES_MIN + 2 * PARTITION_BYTES_MAX
"""More than a response with the newest batch has."""
_SESSION_BYTES_MIN = 26
"""The fewest bytes of a request with a session behind its client id."""

Deliver = Callable[[CompletedResponse], None]


@dataclass(frozen=True, slots=True)
class FetchServices:
    """What the caches of all connections to a cluster share: the parts of its dispatcher."""

    cluster: Cluster
    faults: FaultTable
    journal: Journal
    report_bug: BugReporter
    framed: Callable[[RequestContext, Any], PendingFrame | CompletedResponse]
    """Returns the frame of what the ordinary path returns, now or when it arrives."""
    now_ns: Callable[[], int]
    note: Callable[[Entry, PendingFrame | CompletedResponse], PendingFrame | CompletedResponse]
    """Has the journal record a response, now or when it arrives."""


class _Known:
    """A layout of the requests of a session, and the request that waits."""

    __slots__ = ("is_used", "layout", "named", "plan", "session", "topic", "wait")

    def __init__(
        self,
        layout: FetchFrameLayout,
        topic: str | UUID,
        named: NamedPartition | None,
        plan: SessionPlan,
        session: FetchSession,
        wait: "CachedWait",
    ) -> None:
        self.layout = layout
        self.topic = topic
        self.named = named
        """The partition if the requests have one, and then its offset in place of the rows."""
        self.plan = plan
        self.session = session
        self.wait = wait
        self.is_used = False


class CachedWait(SessionWait):
    """A request of a cache that waits; `deliver` takes the frame of its response."""

    __slots__ = ("_data", "_deliver", "_entry", "_now_ms", "_peer", "_services", "plan")
    charges_quotas = True

    def __init__(
        self,
        services: FetchServices,
        plan: SessionPlan,
        session: FetchSession,
        peer: Peer,
        deliver: Deliver,
    ) -> None:
        super().__init__(services.cluster, plan, session)
        self.plan = plan
        self._services = services
        self._peer = peer
        self._deliver = deliver
        self._data = b""
        self._now_ms = 0
        self._entry: Entry | None = None

    def begin(self, data: bytes, now_ms: int, entry: Entry | None) -> None:
        """Wait for a record for this request, which may have an entry in the journal."""
        self._data = data
        self._now_ms = now_ms
        self._entry = entry
        if entry is not None:
            self._services.journal.wait(entry)
        self.wait(now_ms)

    def encode(self, now_ms: int) -> bytes | EncodedParts | None:
        """See `SessionWait.encode`; this is a frame."""
        plan, data = self.plan, self._data
        rate, frame = plan.charge.rate, None
        if rate is None or (now_ms < rate.ends_ms and rate.left >= NEWEST_BYTES_MAX):
            frame = frame_newest(plan, data[8:12])
        if frame is None:
            read = read_session(plan, self._session)
            return None if read is None else _frame_read(plan, self._session, data, *read, now_ms)
        if rate is not None:
            rate.record(len(frame) - plan.uncharged_bytes, now_ms)
        return frame

    @may_pause
    def complete(self, response: object, context: RequestContext | None) -> None:
        """See `SessionWait.complete`."""
        if context is None:
            assert isinstance(response, (bytes, EncodedParts))
            entry = self._entry
            if entry is not None:
                self._services.journal.end(entry, response, self._services.now_ns())
                self._entry = None
            self._deliver(response)
            return
        services = self._services
        late = close_on_error(
            context, services.report_bug, lambda: services.framed(context, response)
        )
        assert not isinstance(late, PendingFrame)  # it has waited
        if self._entry is not None:
            services.journal.end(self._entry, late, services.now_ns())
            self._entry = None
        self._deliver(late)

    def request_context(self) -> RequestContext:
        """See `SessionWait.request_context`."""
        if self._entry is not None:
            return self._entry.context
        return context_of_frame(self._data, self._peer, self._now_ms)


class FetchCache:
    """The layouts of the Fetch requests of one connection."""

    __slots__ = (
        "_deliver",
        "_known",
        "_latest",
        "_pause",
        "_peer",
        "_sender",
        "_services",
        "_skip",
    )

    def __init__(self, services: FetchServices, peer: Peer, deliver: Deliver) -> None:
        """`deliver` takes the response to a request that has waited."""
        self._services = services
        self._peer = peer
        self._deliver = deliver
        self._known: dict[int, _Known] = {}
        """Layouts by the size of the frame with its size field."""
        self._latest: _Known | None = None
        self._sender: Sender | None = None
        """Who sends the requests, for the journal."""
        self._pause = self._skip = 0

    # Hot path: inlined on purpose.
    @may_pause
    def respond(self, data: bytes, now_ms: int) -> CachedWait | PendingFrame | CompletedResponse:
        """Handle a request, or return None and change nothing: the ordinary path has to take it."""
        known = self._known.get(len(data))
        if known is None:
            return None
        layout = known.layout
        start, _correlation_id, constant, epoch, names, rows, rest = layout.unpack(data)
        if (
            start != layout.start
            or constant != layout.constant
            or names != layout.names
            or rest != layout.rest
        ):
            return None
        session, plan, services = known.session, known.plan, self._services
        cluster, journal, charge = services.cluster, services.journal, plan.charge
        if (
            session.epoch != epoch
            or not session.is_open
            or plan.change_count != session.change_count
            or plan.generation != cluster.generation
            or services.faults.is_enabled
            or (journal.is_enabled and len(data) > journal.bytes_max)
            or self._peer.session.limited_from_ms <= now_ms
        ):
            return None
        time_rate = charge.time_rate
        if time_rate is not None and (now_ms >= time_rate.ends_ms or time_rate.left < TIME_MAX_NS):
            charge.renew(now_ms)
            return None
        is_recorded = journal.is_enabled
        started_ns = services.now_ns() if is_recorded or time_rate is not None else 0
        try:
            named = known.named
            if named is not None:
                if not named.take_offset(rows):
                    return None
            elif rows and not take_rows(plan, session, known.topic, rows):
                return None
            known.is_used = True
            session.epoch = next_epoch(epoch)
            session.note_use(now_ms)
            response: CachedWait | PendingFrame | CompletedResponse
            if has_to_wait(plan):
                response = known.wait
                response.begin(data, now_ms, self._entry_of(data, now_ms, started_ns))
            else:
                response = self._read(known, data, now_ms, started_ns)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            context = context_of_frame(data, self._peer, now_ms)
            close = closed_by(error, context, services.report_bug)
            entry = self._entry_of(data, now_ms, started_ns)
            if entry is not None:
                journal.end(entry, close, services.now_ns())
            return close
        if time_rate is not None:
            time_rate.record(services.now_ns() - started_ns, now_ms)
        return response

    @may_pause
    def _read(
        self, known: _Known, data: bytes, now_ms: int, started_ns: int
    ) -> CachedWait | PendingFrame | CompletedResponse:
        """Read for a request that the session has taken."""
        plan, session, journal = known.plan, known.session, self._services.journal
        rate = plan.charge.rate
        frame: bytes | EncodedParts | None = None
        if rate is None or (now_ms < rate.ends_ms and rate.left >= NEWEST_BYTES_MAX):
            frame = frame_newest(plan, data[8:12])
        if frame is None:
            read = read_session(plan, session)
            if read is None:
                return self._respond_ordinarily(known, data, now_ms, started_ns)
            found, byte_count = read
            if byte_count < plan.params.bytes_min and plan.max_wait_ms > 0:
                known.wait.begin(data, now_ms, self._entry_of(data, now_ms, started_ns))
                return known.wait
            frame = _frame_read(plan, session, data, found, byte_count, now_ms)
            if frame is None:
                return self._respond_ordinarily(known, data, now_ms, started_ns)
        elif rate is not None:
            rate.record(len(frame) - plan.uncharged_bytes, now_ms)
        entry = self._entry_of(data, now_ms, started_ns)
        if entry is not None:
            journal.end(entry, frame, self._services.now_ns())
        return frame

    def _entry_of(self, data: bytes, now_ms: int, started_ns: int) -> Entry | None:
        """Return the entry of a request that has no response yet; None if it is not recorded."""
        journal = self._services.journal
        if not journal.is_enabled:
            return None
        return journal.begin_sent(self._sender or self._new_sender(), data, now_ms, started_ns)

    def _new_sender(self) -> Sender:
        sender = self._sender = Sender(self._peer)
        return sender

    @may_pause
    def _respond_ordinarily(
        self, known: _Known, data: bytes, now_ms: int, started_ns: int
    ) -> PendingFrame | CompletedResponse:
        """Go on with a request that the session has taken, and that has become unusual."""
        services, session = self._services, known.session
        entry = self._entry_of(data, now_ms, started_ns)
        context = context_of_frame(data, self._peer, now_ms) if entry is None else entry.context
        fetch = ordinary_fetch(context, services.cluster, known.plan, session, session.epoch)
        response = services.framed(context, read_or_wait(fetch))
        return response if entry is None else services.note(entry, response)

    @may_pause
    def learn(self, frame: Frame) -> None:
        """Remember the layout of a Fetch request that the ordinary path has handled."""
        if self._latest is None or self._latest.is_used:
            self._pause = 0
        elif self._skip:
            self._skip -= 1
            return
        known = self._known_of(frame)
        if known is None:
            return
        self._skip = self._pause = min(2 * self._pause + 1, PAUSE_MAX)
        self._latest = known
        if len(self._known) >= LAYOUTS_MAX:
            self._known.clear()
        self._known[frame[2] - frame[1] + SIZE_BYTES] = known

    @may_pause
    def _known_of(self, frame: Frame) -> _Known | None:
        """Return the layout of a request whose session has a plan; None for others."""
        buffer, start, end = frame
        _key, version, _correlation_id, client_id, body_at = codec.decode_header(buffer, start, end)
        if version < LEADER_EPOCH_VERSION_MIN or end - body_at < _SESSION_BYTES_MIN:
            return None
        if version >= FLEXIBLE_VERSION_MIN:
            if buffer[body_at]:
                return None
            body_at += 1
        session_id_at = body_at + session_at(version)
        session_id = int.from_bytes(buffer[session_id_at : session_id_at + 4])
        cluster, peer = self._services.cluster, self._peer
        session = cluster.fetch_sessions[peer.broker_id].get(session_id) if session_id else None
        plan = None if session is None else session.plan
        if (
            session is None
            or not isinstance(plan, SessionPlan)
            or not 0 < len(plan.targets) <= PARTITIONS_MAX
            or not plan.is_good(session, cluster)
            or not plan.is_of(peer.session.principal, client_id)
            or plan.params.bytes_min > 1
            or plan.api_version != version
            or not buffer.startswith(plan.beginning, body_at)
        ):
            return None
        layout = layout_of(plan, buffer, body_at, end)
        if layout is None:
            return None
        latest = self._latest
        if latest is not None and latest.plan is plan:
            wait = latest.wait
        else:
            wait = CachedWait(self._services, plan, session, peer, self._deliver)
        named = named_partition(plan, layout.topic, layout.rows_of(buffer, body_at))
        return _Known(
            FetchFrameLayout.of(
                layout, buffer, start - SIZE_BYTES, body_at, end, has_one=named is not None
            ),
            layout.topic,
            named,
            plan,
            session,
            wait,
        )


def _frame_read(
    plan: SessionPlan,
    session: FetchSession,
    data: bytes,
    found: Sequence[Found],
    byte_count: int,
    now_ms: int,
) -> bytes | EncodedParts | None:
    """Return the frame of what was read for a request, and charge it.

    None changes nothing: a quota may throttle the client.
    """
    charge = plan.charge
    if not charge.allows(byte_count + (len(found) + 1) * PARTITION_BYTES_MAX, now_ms):
        return None
    frame = _framed(plan, data, encode_found(plan, session, found))
    if charge.rate is not None:
        charge.record(size_of(frame) - plan.uncharged_bytes, now_ms)
    return frame


def _framed(plan: SessionPlan, data: bytes, body: bytes | EncodedParts) -> bytes | EncodedParts:
    """Return the frame of a body; `data` is the request with its size."""
    correlation_id = int.from_bytes(data[8:12], signed=True)
    if isinstance(body, EncodedParts):
        return frame_parts(correlation_id, body, plan.is_flexible)
    return codec.frame_response(correlation_id, body, has_tagged_header=plan.is_flexible)
