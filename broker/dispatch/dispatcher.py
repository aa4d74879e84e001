"""The whole path of one request: header, route, body, handler, response frame.

A client's mistake raises no exception here. The result is then a `Close` with the reason.
"""

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from broker import handlers  # noqa: F401 - importing the package registers the APIs
from broker.audit.acknowledgements import Acknowledgements
from broker.clock import perf_ns, thread_cpu_ns
from broker.cluster.cluster import Cluster
from broker.config.api_versions import release_of
from broker.dispatch.marker_channel import MarkerChannel
from broker.dispatch.turn_queue import TurnKind
from broker.dispatch.turns import Turns
from broker.faults.table import FaultTable
from broker.journal.journal import Journal
from broker.journal.lines import Entry
from broker.pending_response import PendingResponse
from broker.request.authentication import response_raw_token
from broker.request.context import RequestContext
from broker.request.encoding import BugReporter, close_on_error, closed_by, encode_response
from broker.request.session import Peer
from broker.request.throttling import charge_time
from broker.responses import Close, CompletedResponse, DispatchResult, PendingFrame, unchanged
from broker.routes import TAKES_TURNS, Route, unsupported_version_response
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.framing import Frame
from protocol.pacing import may_pause
from protocol.request_bounds import check_bounds

if TYPE_CHECKING:
    from broker.dispatch.fetch_replay import FetchReplay
    from broker.dispatch.produce_replay import ProduceReplay
    from broker.faults.injector import Injector

AUTHENTICATION_APIS = frozenset(
    {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
)


class Dispatcher:
    """Handle the request frames of one cluster with the registered handlers."""

    learns_requests = True
    """Whether requests that are like an earlier one may take a shorter path."""

    def __init__(
        self,
        cluster: Cluster,
        report_bug: BugReporter,
        now_ns: Callable[[], int] = perf_ns,
    ) -> None:
        """`report_bug` receives what a handler raised; the connection is closed in any case.

        `now_ns` is the clock that measures the time of handlers, for quotas and the journal.
        """
        self._cluster = cluster
        self.faults = FaultTable(cluster)
        self.journal = Journal(
            cluster.config["journal.entries.max"],
            cluster.config["journal.bytes.max"],
            is_enabled=cluster.config["journal.enable"],
        )
        self.faults.on_held = self.journal.note_held
        self.acknowledgements = Acknowledgements(
            cluster.config["audit.acknowledgements.max"],
            is_enabled=cluster.config["audit.enable"],
        )
        if self.acknowledgements.is_enabled:
            self.faults.on_record_change = self.acknowledgements.note_change
        self.report_bug = report_bug
        self._now_ns = now_ns
        self.turns = Turns(
            cluster.config["response.bytes.max"],
            now_ns,
            cluster.config["request.queue.bytes.max"],
            thread_cpu_ns if now_ns is perf_ns else now_ns,
        )
        cluster.run_in_turns = self.turns.run_work
        cluster.marker_sender = MarkerChannel(cluster, self.faults, self.journal, self.dispatch)

    def new_produce_replay(self, peer: Peer) -> "ProduceReplay":
        """Return an empty memory of the Produce requests of a connection."""
        from broker.dispatch.produce_replay import ProduceReplay  # noqa: PLC0415 - see ADR 24

        return ProduceReplay(self, self._cluster, peer)

    def new_fetch_replay(self, peer: Peer) -> "FetchReplay":
        """Return an empty memory of the Fetch requests of a connection."""
        from broker.dispatch.fetch_replay import FetchReplay  # noqa: PLC0415 - see ADR 24

        return FetchReplay(self, self._cluster, peer)

    @cached_property
    def _injector(self) -> "Injector":
        from broker.faults.injector import Injector  # noqa: PLC0415 - see ADR 24

        return Injector(self._cluster, self.faults, self.report_bug)

    # Hot path: inlined on purpose; each further call costs about 0.1 µs.
    @may_pause
    def dispatch(  # noqa: C901, PLR0912
        self, frame: Frame, connection: Peer, now_ms: int
    ) -> DispatchResult:
        """Handle one frame of a connection."""
        buffer, start, end = frame
        session = connection.session
        is_limited = session.limited_from_ms <= now_ms
        if is_limited and session.takes_raw_tokens:
            token = bytes(buffer[start:end])
            raw = response_raw_token(session, token, self._cluster, connection.broker_id, now_ms)
            return PendingFrame(raw, unchanged) if isinstance(raw, PendingResponse) else raw
        try:
            api_key, api_version, correlation_id, client_id, position = codec.header_fields(
                buffer, start, end
            )
        except codec.DecodeError as error:
            return Close(f"undecodable request header: {error}")
        if is_limited:
            if session.exchange is not None and api_key != ApiKey.SASL_AUTHENTICATE:
                return self._refuse_unauthenticated(frame, connection, now_ms)
            if session.exchange is None and session.is_authenticated:
                if api_key != ApiKey.SASL_HANDSHAKE:
                    return Close(f"API key {api_key} after the end of the session")
            elif api_key not in AUTHENTICATION_APIS:
                return Close(f"API key {api_key} before authentication (ILLEGAL_SASL_STATE)")
        cluster = self._cluster
        broker_id = connection.broker_id
        route = cluster.routes[broker_id].get(api_key)
        if route is None:
            return Close(f"unknown API key {api_key}")
        if not route.version_min <= api_version <= route.version_max:
            return _refuse_version(route, api_version, correlation_id, (buffer, position, end))
        # fmt: off
        context = RequestContext(
            api_key, api_version, correlation_id, client_id, now_ms, end - start, broker_id,
            connection.connection_id, connection.client_host, session.principal, session,
        )
        # fmt: on
        is_noted = self.notes_requests
        entry = self.begin(context, buffer, start, end) if is_noted else None
        response: DispatchResult = None
        try:
            if api_version >= route.flexible_min:
                if position < end and buffer[position] == 0:
                    position += 1
                else:
                    position = codec.skip_tagged_fields(buffer, position, end)
            is_long = end - position > codec.LONG_BODY_BYTES
            has_faults = self.faults.is_enabled
            if is_long or not route.is_raw:
                if not (is_long or has_faults):
                    response = self._respond_to_short(route, context, buffer, position, end)
                if response is None:
                    response = self._respond_in_turns(route, context, buffer, position, end)
            elif has_faults:
                response = self._injector.intercept(
                    route, context, buffer, position, end, self._handle
                )
            else:
                response = self._handle(route, context, buffer, position, end, cluster)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            response = closed_by(error, context, self.report_bug)
        return self.end(context, entry, response) if is_noted else response

    @property
    def notes_requests(self) -> bool:
        """Whether `begin` and `end` note anything."""
        return self.journal.is_enabled or self.acknowledgements.is_enabled

    def begin(
        self, context: RequestContext, buffer: bytes | bytearray, start: int, end: int
    ) -> Entry | None:
        """Begin to note a request for the audit and the journal; pass the result to `end`."""
        if self.acknowledgements.is_enabled:
            context.acknowledgements = []
        journal = self.journal
        if not journal.is_enabled:
            return None
        return journal.begin(context, buffer, start, end, self._now_ns())

    def end(
        self, context: RequestContext, entry: Entry | None, response: DispatchResult
    ) -> DispatchResult:
        """Have audit and journal note the response to a request, now or when it arrives."""
        if self.acknowledgements.is_enabled:
            response = self.acknowledgements.follow(context, response)
        if entry is None:
            return response
        if isinstance(response, PendingFrame):
            return self._end_later(entry, response)
        self.journal.end(entry, response, self._now_ns())
        return response

    @may_pause
    def _respond_in_turns(
        self,
        route: Route,
        context: RequestContext,
        buffer: bytes | bytearray,
        position: int,
        end: int,
    ) -> DispatchResult:
        """Handle a request that may have much to do."""
        body_bytes = end - position
        is_long = body_bytes > codec.LONG_BODY_BYTES

        def respond() -> DispatchResult:
            if body_bytes > codec.BOUNDED_BODY_BYTES:
                self._check_bounds(context, buffer, position, end)
            if self.faults.is_enabled:
                return self._injector.intercept(route, context, buffer, position, end, self._handle)
            return self._handle(route, context, buffer, position, end, self._cluster)

        return self.turns.run(
            lambda: close_on_error(context, self.report_bug, respond),
            body_bytes if is_long else 0,
            TurnKind.HEAVY if is_long and not route.is_raw else TurnKind.LIGHT,
        )

    @may_pause
    def _check_bounds(
        self, context: RequestContext, buffer: bytes | bytearray, start: int, end: int
    ) -> None:
        """Raise DecodeError if a body has too many elements."""
        config = self._cluster.config
        release = release_of(config.for_broker(context.broker_id))
        api_key, elements_max = ApiKey(context.api_key), config["request.elements.max"]
        check_bounds(api_key, context.api_version, buffer, start, end, elements_max, release)

    @may_pause
    def _respond_to_short(
        self,
        route: Route,
        context: RequestContext,
        buffer: bytes | bytearray,
        position: int,
        end: int,
    ) -> DispatchResult:
        """Respond without the schema's codec and without turns; None if that can't be done.

        Nothing has changed then.
        """
        cluster = self._cluster
        if cluster.quotas.clients.is_enabled:
            self.start_stopwatch(context)
        response = None
        if route.shortcut is not None:
            response = route.shortcut(context, buffer, position, end, cluster)
        if response is None and route.read_short is not None:
            request = route.read_short(context.api_version, buffer, position, end)
            if request is not None:
                response = route.handler(context, request, cluster)
        if response is None or response is TAKES_TURNS:
            return None
        if context.stopwatch is not None:
            charge_time(context, cluster, context.now_ms)
        return self.framed(route, context, response)

    @may_pause
    def _refuse_unauthenticated(
        self, frame: Frame, connection: Peer, now_ms: int
    ) -> CompletedResponse:
        """Respond to a request in the middle of an authentication with an error, and close.

        Source: `SaslServerAuthenticator.handleSaslToken`.
        """
        buffer, start, end = frame
        api_key, api_version, correlation_id, client_id, position = codec.decode_header(
            buffer, start, end
        )
        reason = f"API key {api_key} during authentication (ILLEGAL_SASL_STATE)"
        route = self._cluster.routes[connection.broker_id].get(api_key)
        if route is None or route.is_raw:
            return Close(reason)
        if not route.version_min <= api_version <= route.version_max:
            return Close(reason)
        context = RequestContext(
            api_key,
            api_version,
            correlation_id,
            client_id,
            now_ms,
            end - start,
            connection.broker_id,
            connection.connection_id,
            connection.client_host,
            connection.session.principal,
            connection.session,
        )

        from broker.faults.error_responses import response_without_data  # noqa: PLC0415 - see ADR 24

        def respond() -> CompletedResponse:
            body_start = position
            if api_version >= route.flexible_min:
                body_start = codec.skip_tagged_fields(buffer, position, end)
            if end - body_start > codec.BOUNDED_BODY_BYTES:
                self._check_bounds(context, buffer, body_start, end)
            request = codec.decode_request(route.api_key, api_version, buffer, body_start, end)
            name = ApiKey(api_key).name
            message = f"Unexpected Kafka request of type {name} during SASL authentication."
            response = response_without_data(
                context, request, ErrorCode.ILLEGAL_SASL_STATE, message
            )
            return encode_response(route, context, Close(reason, response))

        return close_on_error(context, self.report_bug, respond)

    def _end_later(self, entry: Entry, result: PendingFrame) -> DispatchResult:
        """Have the journal record the response when it arrives."""
        journal = self.journal
        journal.wait(entry)

        def encode(response: Any) -> CompletedResponse:
            late = result.encode(response)
            journal.end(entry, late, self._now_ns())
            return late

        return PendingFrame(result.pending, encode)

    def start_stopwatch(self, context: RequestContext) -> None:
        """Measure the time of the handler from now on, if a quota needs it."""
        if self._cluster.quotas.clients.request_percentage.is_enabled:
            # The time in which the request waits for its turn is not the handler's.
            started_ns = self._now_ns() - self.turns.waited_ns
            context.stopwatch = lambda: self._now_ns() - self.turns.waited_ns - started_ns

    def lap_stopwatch(self) -> Callable[[], int] | None:
        """Return what measures requests one after the other, which do not wait for turns.

        A call returns the time since the last one, in ns. None if no quota needs that.
        """
        if not self._cluster.quotas.clients.request_percentage.is_enabled:
            return None
        now_ns = self._now_ns
        read_ns = now_ns()

        def lap_ns() -> int:
            nonlocal read_ns
            before_ns, read_ns = read_ns, now_ns()
            return read_ns - before_ns

        return lap_ns

    @may_pause
    def _handle(
        self,
        route: Route,
        context: RequestContext,
        buffer: bytes | bytearray,
        position: int,
        end: int,
        cluster: Cluster,
    ) -> DispatchResult:
        if self._cluster.quotas.clients.is_enabled:
            self.start_stopwatch(context)
        if route.is_raw:
            response = route.handler(context, buffer, position, end, cluster)
        else:
            request = None
            if route.read_long is not None and end - position <= codec.SCHEMA_BODY_BYTES_MAX:
                request = route.read_long(context.api_version, buffer, position, end)
            if request is None:
                request = codec.decode_request(
                    route.api_key, context.api_version, buffer, position, end
                )
            response = route.handler(context, request, cluster)
        if context.stopwatch is not None:
            charge_time(context, self._cluster, context.now_ms)
        return self.framed(route, context, response)

    @may_pause
    def framed(self, route: Route, context: RequestContext, response: Any) -> DispatchResult:
        """Return the frame of what a handler returned, now or when it arrives."""
        if type(response) is bytes and not context.throttle_time_ms:
            return codec.frame_response(
                context.correlation_id,
                response,
                has_tagged_header=context.api_version >= route.tagged_header_min,
            )
        if type(response) is PendingResponse:
            return PendingFrame(response, partial(self._framed_later, route, context))
        return encode_response(route, context, response)

    @may_pause
    def _framed_later(
        self, route: Route, context: RequestContext, response: Any
    ) -> CompletedResponse:
        """Return the frame of what a pending response has become."""
        try:
            found = self.framed(route, context, response)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            return closed_by(error, context, self.report_bug)
        assert not isinstance(found, PendingFrame)  # it has waited
        return found


def _refuse_version(
    route: Route, api_version: int, correlation_id: int, rest: Frame
) -> CompletedResponse:
    """Close, but say which versions of ApiVersions there are; `rest` is behind the client id."""
    if route.api_key is not ApiKey.API_VERSIONS:
        return Close(f"unsupported version {api_version} of {route.api_key.name}")
    try:
        if api_version >= route.flexible_min:
            codec.skip_tagged_fields(*rest)
    except codec.DecodeError as error:
        return Close(f"undecodable request header: {error}")
    return unsupported_version_response(correlation_id, route)
