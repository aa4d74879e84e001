"""Respond to the usual requests of a fetch session, with few partitions and without errors.

A session is an inline cache of its requests (KIP-227, ADR 26): what they have in common is checked
once (`broker/fetch/session_plan.py`). Each other request, and each partition with an error, takes
the ordinary path (`fetch_wait.read_or_wait`). With many partitions a request takes turns (ADR 23).
"""

from functools import partial
from struct import Struct

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import FetchSession, next_epoch
from broker.fetch.fetch_context import FetchContext
from broker.fetch.fetch_response import Fetch
from broker.fetch.fetch_wait import read_or_wait, respond_again
from broker.fetch.partition_read import is_satisfied
from broker.fetch.session_plan import (
    SessionPlan,
    layout_of,
    plan_for,
    read_session,
    take_rows,
)
from broker.fetch.session_response import encode_found
from broker.pending_response import Failed, PendingResponse
from broker.request.context import RequestContext
from broker.responses import EncodedParts
from broker.routes import TAKES_TURNS
from broker.timers import Timer
from protocol.fetch import (
    LEADER_EPOCH_VERSION_MIN,
    PARTITIONS_MAX,
    SESSION_VERSION_MIN,
    read_fetch,
    session_at,
)
from protocol.pacing import may_pause

_REST_BYTES_MIN = 8
"""The shortest end of a request, from the session epoch on."""

_SESSION = Struct(">ii")


@may_pause
def fetch_in_session(
    context: RequestContext, frame: bytes | bytearray, start: int, end: int, cluster: Cluster
) -> object:
    """Return the body of a response, a `PendingResponse`, None or `TAKES_TURNS`.

    With the last two nothing has changed, and the ordinary path has to take the request.
    """
    version = context.api_version
    epoch_at = start + session_at(version) + 4
    if version < SESSION_VERSION_MIN or end - epoch_at < _REST_BYTES_MIN:
        return None
    session_id, epoch = _SESSION.unpack_from(frame, epoch_at - 4)
    session = cluster.fetch_sessions[context.broker_id].get(session_id)
    if session is None or session.epoch != epoch:
        return None
    if len(session.partitions) > PARTITIONS_MAX:
        return TAKES_TURNS
    if version < LEADER_EPOCH_VERSION_MIN:
        return None
    has_quotas = cluster.quotas.clients.is_enabled
    plan = session.plan
    if (
        not isinstance(plan, SessionPlan)
        or not plan.is_good(session, cluster)
        or plan.api_version != version
        or frame[start:epoch_at] != plan.beginning
        or (has_quotas and not plan.is_of(context.principal, context.client_id))
    ):
        request = read_fetch(version, frame, start, end)
        if request is None:
            return None
        plan = session.plan = plan_for(context, request, session, cluster)
    if has_quotas or not plan.targets:
        return None  # the cache of the connection may need the plan
    layout = layout_of(plan, frame, start, end)
    if layout is None or not take_rows(plan, session, layout.topic, layout.rows_of(frame, start)):
        return None
    session.epoch = next_epoch(epoch)
    session.note_use(context.now_ms)
    read = read_session(plan, session)
    if read is not None:
        found, byte_count = read
        bytes_min = plan.params.bytes_min
        if plan.max_wait_ms <= 0 or byte_count >= bytes_min:
            return encode_found(plan, session, found)
        if bytes_min == 1:
            return _Waiting(context, cluster, plan, session).pending
    return read_or_wait(ordinary_fetch(context, cluster, plan, session, session.epoch))


def ordinary_fetch(
    context: RequestContext,
    cluster: Cluster,
    plan: SessionPlan,
    session: FetchSession,
    epoch: int,
) -> Fetch:
    """Return a request, which the session has taken, for the ordinary path."""
    # After a later request the response is an error. There may be many partitions by then.
    partitions = list(session.partitions.values()) if session.epoch == epoch else []
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


class SessionWait:
    """A request of a session that waits for a record: the waiter of all partitions of its plan.

    One object serves one request after the other.
    """

    __slots__ = ("_cluster", "_deadline", "_epoch", "_is_due", "_plan", "_session", "is_done")
    charges_quotas = False
    """Whether `encode` charges quotas of clients."""

    def __init__(self, cluster: Cluster, plan: SessionPlan, session: FetchSession) -> None:
        self._cluster = cluster
        self._plan = plan
        self._session = session
        self._epoch = session.epoch
        self._deadline: Timer | None = None
        self._is_due = False
        self.is_done = True

    def wait(self, now_ms: int) -> None:
        """Wait from now on for a record, at most `max_wait_ms`."""
        plan, timers = self._plan, self._cluster.timers
        self._epoch = self._session.epoch
        self._is_due = self.is_done = False
        self._deadline = timers.schedule_again(
            self._deadline, now_ms + plan.max_wait_ms, self._finish
        )
        for target in plan.targets.values():
            target.log.wait(self)

    def complete(self, response: object, context: RequestContext | None) -> None:
        """Take the response: an encoded one, or what the ordinary path returned for `context`."""
        raise NotImplementedError

    def request_context(self) -> RequestContext:
        """Return the context of the request."""
        raise NotImplementedError

    @may_pause
    def __call__(self, now_ms: int) -> None:
        """Look at the partitions again: one of them has changed."""
        try:
            if self._is_due or not self._is_satisfied():
                return
        except Exception:  # noqa: BLE001, S110 - the response has it; the caller is another request
            pass
        # Respond after the request that woke this one, with all records that it appended.
        self._is_due = True
        self._cluster.timers.call_soon(now_ms, self._finish_due)

    @may_pause
    def _is_satisfied(self) -> bool:
        plan = self._plan
        reads_committed = plan.params.reads_committed
        for cached, target in plan.targets.items():
            offset, log = cached.fetch_offset, target.log
            if reads_committed:
                end_offset = target.partition.last_stable_offset
            else:
                end_offset = log.log_end_offset
            if offset < end_offset or not log.log_start_offset <= offset <= log.log_end_offset:
                return True
        return not self._is_usual() and is_satisfied(self._cluster, plan.params, plan.targets)

    def _is_usual(self) -> bool:
        """Whether nothing but records has changed since the request came."""
        cluster, session, plan = self._cluster, self._session, self._plan
        # With `SessionPlan.is_good`, inlined.
        return (
            session.epoch == self._epoch
            and plan.change_count == session.change_count
            and plan.generation == cluster.generation
            and (self.charges_quotas or not cluster.quotas.clients.is_enabled)
        )

    def cancel(self) -> None:
        """Wait no longer: the client is gone."""
        self.is_done = True
        self._is_due = False
        self._forget()

    def _forget(self) -> None:
        self._cluster.timers.cancel(self._deadline)
        for target in self._plan.targets.values():
            target.log.leave(self)

    @may_pause
    def _finish_due(self, now_ms: int) -> None:
        if self._is_due:
            self._finish(now_ms)

    # Hot path: inlined on purpose.
    @may_pause
    def _finish(self, now_ms: int) -> None:
        # As `_forget`, inlined.
        self._cluster.timers.cancel(self._deadline)
        for target in self._plan.targets.values():
            target.log.leave(self)
        self._is_due = False
        try:
            encoded = self.encode(now_ms) if self._is_usual() else None
        except Exception as error:  # noqa: BLE001 - the dispatcher reports it
            self._complete(self.request_context(), Failed(error))
            return
        if encoded is not None:
            # As `_complete`, inlined.
            if not self.is_done:
                self.is_done = True
                self.complete(encoded, None)
        else:
            context = self.request_context()  # it gets the throttle time of a quota
            plan, session = self._plan, self._session
            fetch = ordinary_fetch(context, self._cluster, plan, session, self._epoch)
            respond_again(fetch, now_ms, partial(self._complete, context))

    def encode(self, _now_ms: int) -> bytes | EncodedParts | None:
        """Return the encoded response, or None if the ordinary path must respond."""
        plan, session = self._plan, self._session
        read = read_session(plan, session)
        return None if read is None else encode_found(plan, session, read[0])

    @may_pause
    def _complete(self, context: RequestContext | None, response: object) -> None:
        if not self.is_done:
            self.is_done = True
            self.complete(response, context)

    @may_pause
    def force_complete(self, now_ms: int) -> None:
        """Respond at once with what there is: the broker stops."""
        if not self.is_done:
            self._finish(now_ms)


class _Waiting(SessionWait):
    """A request that waits in the ordinary dispatch."""

    __slots__ = ("_context", "pending")

    def __init__(
        self, context: RequestContext, cluster: Cluster, plan: SessionPlan, session: FetchSession
    ) -> None:
        super().__init__(cluster, plan, session)
        self._context = context
        self.pending = PendingResponse(on_cancel=self.cancel, on_force_complete=self.force_complete)
        self.wait(context.now_ms)

    @may_pause
    def complete(self, response: object, _context: RequestContext | None) -> None:
        """See `SessionWait.complete`."""
        self.pending.complete(response)

    def request_context(self) -> RequestContext:
        """See `SessionWait.request_context`."""
        return self._context
