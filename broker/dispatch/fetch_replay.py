"""Replay Fetch requests of a session that equal an earlier one but for epoch and fetch offsets.

In front of the decoder (ADR 25): what is read, charged and noted is so by the functions of the
ordinary path. That handles the first requests, all that are unusual, and those that take turns.
"""

from typing import NamedTuple

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition, FetchSession, next_epoch
from broker.dispatch.ordinary_path import PAUSE_MAX, OrdinaryPath, replayed_context
from broker.fetch.fetch_context import FetchContext
from broker.fetch.fetch_params import ISOLATION_LEVELS, fetch_params
from broker.fetch.fetch_response import Fetch
from broker.fetch.fetch_wait import read_or_wait
from broker.fetch.partition_read import find_partition
from broker.fetch.read_authorization import denied_topics
from broker.fetch.session_logs import logs_of_session
from broker.request.context import RequestContext
from broker.request.encoding import closed_by
from broker.request.session import Peer
from broker.request.throttling import charge_time
from broker.responses import DispatchResult
from broker.routes import Route
from protocol.api_keys import ApiKey
from protocol.fetch import PARTITIONS_MAX, TOPIC_ID_VERSION_MIN
from protocol.fetch_template import FetchTemplate
from protocol.framing import SIZE_BYTES, Frame
from protocol.pacing import may_pause

_FIRST_OFFSET = 5
"""The number of a fetch offset in what a template unpacks: one is between each two constants."""
TEMPLATES_MAX = 16
"""Sizes of frames that a connection remembers, to bound memory."""


class _Learnt(NamedTuple):
    """A template, and what is looked up for its requests.

    It is good while `Cluster.generation` and `FetchSession.change_count` stay. Until then the
    client may read all partitions of the session, too: each change of a rule is a new generation.
    """

    template: FetchTemplate
    generation: int
    change_count: int
    session: FetchSession
    named: tuple[CachedPartition, ...]
    """The partitions that the requests name."""
    has_quotas: bool
    fetch: Fetch
    """Each request in turn: a connection has one at a time."""
    context: RequestContext
    """The context of each request that nothing keeps."""
    session_context: FetchContext
    """That of `fetch`."""
    route: Route


class FetchReplay:
    """The latest Fetch requests of one connection, by the size of their frame."""

    __slots__ = (
        "_cluster",
        "_dispatcher",
        "_is_used",
        "_learnt",
        "_pause",
        "_peer",
        "_skip",
    )

    def __init__(self, dispatcher: OrdinaryPath, cluster: Cluster, peer: Peer) -> None:
        self._dispatcher = dispatcher
        self._cluster = cluster
        self._peer = peer
        self._learnt: dict[int, _Learnt] = {}
        self._is_used = True
        self._pause = self._skip = 0

    @may_pause
    def learn(self, frame: Frame, now_ms: int) -> None:
        """Remember a request that the ordinary path has handled."""
        if self._is_used:
            self._pause = 0
        elif self._skip:
            self._skip -= 1
            return
        template = FetchTemplate.of(*frame)
        if template is None:
            return
        learnt = self._learn(template, frame[2] - frame[1], now_ms)
        if learnt is None:
            return
        self._is_used = False
        self._skip = self._pause = min(2 * self._pause + 1, PAUSE_MAX)
        if len(self._learnt) >= TEMPLATES_MAX:
            self._learnt.clear()
        self._learnt[frame[2] - frame[1] + SIZE_BYTES] = learnt

    @may_pause
    def _learn(self, template: FetchTemplate, size_bytes: int, now_ms: int) -> _Learnt | None:
        """Return what is remembered of a request whose session has taken it; None for nothing."""
        cluster, broker_id, request = self._cluster, self._peer.broker_id, template.request
        session = cluster.fetch_sessions[broker_id].get(request.session_id)
        uses_topic_ids = template.api_version >= TOPIC_ID_VERSION_MIN
        if (
            session is None
            or session.uses_topic_ids != uses_topic_ids
            or not 0 < len(session.partitions) <= PARTITIONS_MAX
            or request.isolation_level not in ISOLATION_LEVELS
        ):
            return None
        known = list(session.partitions.values())
        if any(find_partition(cluster, cached) is None for cached in known):
            return None
        named = []
        for topic in request.topics:
            for row in topic.partitions:
                key = topic.topic_id if uses_topic_ids else topic.topic, row.partition
                cached = session.partitions.get(key)
                limits = row.current_leader_epoch, row.last_fetched_epoch, row.partition_max_bytes
                if cached is None or limits != (
                    cached.current_leader_epoch,
                    cached.last_fetched_epoch,
                    cached.max_bytes,
                ):
                    return None
                named.append(cached)
        context = replayed_context(ApiKey.FETCH, template, self._peer, 0, size_bytes, now_ms)
        params = fetch_params(context, request, cluster)
        if denied_topics(
            context, cluster, known, is_from_follower=params.is_from_follower, is_noted=False
        ):
            return None
        logs = logs_of_session(session, params, context, cluster)
        session_context = FetchContext(known, session=session, epoch=session.epoch)
        # fmt: off
        fetch = Fetch(
            context, cluster, params, session_context, known, [], request.max_wait_ms,
            is_short=True, logs=logs,
        )
        return _Learnt(
            template, cluster.generation, session.change_count, session, tuple(named),
            cluster.quotas.clients.is_enabled, fetch, context, session_context,
            cluster.routes[broker_id][ApiKey.FETCH],
        )
        # fmt: on

    @may_pause
    def respond(self, data: bytes, now_ms: int) -> DispatchResult:
        """Handle a request, or return None and change nothing: the ordinary path has to take it."""
        learnt = self._learnt.get(len(data))
        if learnt is None:
            return None
        # fmt: off
        (
            template, generation, change_count, session, named, has_quotas, fetch, context,
            session_context, route,
        ) = learnt
        # fmt: on
        fields = template.unpack(data)
        if fields[::2] != template.constants:
            return None
        cluster, dispatcher, peer_session = self._cluster, self._dispatcher, self._peer.session
        epoch = fields[3]
        if (
            session.epoch != epoch
            or session.change_count != change_count
            or generation != cluster.generation
            or dispatcher.faults.is_enabled
            or peer_session.limited_from_ms <= now_ms
            or peer_session.principal != context.principal
            or not fetch.is_short
        ):
            return None
        is_noted = dispatcher.notes_requests
        self._is_used = True
        if has_quotas or is_noted:
            size_bytes = len(data) - SIZE_BYTES
            context = replayed_context(
                ApiKey.FETCH, template, self._peer, fields[1], size_bytes, now_ms
            )
        else:
            context.correlation_id, context.now_ms = fields[1], now_ms
        fetch.context = context
        entry = dispatcher.begin(context, data, SIZE_BYTES, len(data)) if is_noted else None
        response: DispatchResult
        try:
            if has_quotas:
                dispatcher.start_stopwatch(context)
            position = _FIRST_OFFSET
            for cached in named:
                cached.fetch_offset = fields[position]
                position += 2
            session.epoch = session_context.epoch = next_epoch(epoch)
            session.note_use(now_ms)
            if len(session.partitions) > 1:  # their order has changed
                fetch.known = [*session.partitions.values()]
            found = read_or_wait(fetch)
            if has_quotas:
                charge_time(context, cluster, now_ms)
            response = dispatcher.framed(route, context, found)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            response = closed_by(error, context, dispatcher.report_bug)
        return dispatcher.end(context, entry, response) if is_noted else response
