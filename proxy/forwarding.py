"""A request that somebody looks at: under fault rules, in the journal, and then to the cluster.

It is the path of a request of our broker, whose handler is the cluster behind the proxy.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from broker.cluster.cluster import Cluster
from broker.dispatch.dispatcher import Dispatcher
from broker.log import log
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.request.encoding import BugReporter, close_on_error, throttled_response
from broker.request.session import Peer
from broker.responses import Close, CompletedResponse, DispatchResult, PendingFrame, unchanged
from broker.routes import Route
from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.framing import Frame
from protocol.pacing import may_pause
from proxy.exchange import EndError, Exchange
from proxy.fetch_sessions import needs_all_partitions, without_session
from proxy.follow_up import follow_up
from proxy.proxied_rules import check_proxied
from proxy.quota_request import QuotaRequest
from proxy.quotas import quota_handler
from proxy.request_head import expects_response
from proxy.throttle_time import with_throttle_time

if TYPE_CHECKING:
    from broker.faults.rule import FaultRule


Observer = Callable[[RequestContext, bytes, bytes | None], None]
"""Gets a request without its size, and the frame of the cluster's response; None without one."""


class Upstream(NamedTuple):
    """The connection to the broker behind the proxy, as far as a request needs it."""

    exchange: Exchange
    write: Callable[[bytes], None]


@cache
def proxied_route(api_key: ApiKey) -> Route:
    """Return the route of an API in all versions that are known; the cluster handles it."""
    low, high = messages.schema_versions(api_key)
    flexible_min = next((v for v in range(high + 1) if messages.is_flexible(api_key, v)), high + 1)
    return Route(
        api_key=api_key,
        module=__name__,
        version_min=low,
        version_max=high,
        advertised_min=low,
        is_advertised=True,
        handler=unchanged,
        is_raw=api_key is ApiKey.PRODUCE,
        shortcut=None,
        read_short=None,
        read_long=None,
        checks=(),
        flexible_min=flexible_min,
        tagged_header_min=high + 1 if api_key is ApiKey.API_VERSIONS else flexible_min,
    )


class ForwardingDispatcher(Dispatcher):
    """Sends requests to the cluster behind the proxy, each after the response to the one before."""

    learns_requests = False  # the cluster behind the proxy answers them

    def __init__(self, cluster: Cluster, report_bug: BugReporter) -> None:
        """`report_bug` receives what the code of the proxy raised, and the request."""
        super().__init__(cluster, report_bug)
        self.faults.check_rule = check_proxied
        self.upstreams: dict[int, Upstream] = {}
        """The connections to the cluster, by the id of the client's connection."""
        self.observers: list[Observer] = []
        """Called with each request that the cluster has got, and its response."""
        self.on_sent: list[Callable[[RequestContext, bytes], None]] = []
        """Called with each request, without its size, before the cluster gets it."""
        self.on_closed: list[Callable[[int], None]] = []
        """Called with the id of each connection of a client that has ended."""
        self.on_refusing: list[Callable[[int], None]] = []
        """Called with the node id of a broker that begins to refuse connections."""
        self._unknown: set[tuple[int, int]] = set()

    @property
    def looks(self) -> bool:
        """Whether somebody looks at requests now; else they are passed on as bytes."""
        return (
            self.faults.is_enabled
            or self.journal.is_enabled
            or bool(self.observers)
            or self._cluster.quotas.clients.is_enabled
        )

    @may_pause
    def dispatch(self, frame: Frame, connection: Peer, now_ms: int) -> DispatchResult:
        """Handle one frame of a connection."""
        buffer, start, end = frame
        upstream = self.upstreams[connection.connection_id]
        authentication = upstream.exchange.authentication
        if authentication.takes_raw_tokens and authentication.is_token(buffer, start, end):
            pending = PendingResponse()
            token = bytes(buffer[start:end])
            upstream.write(upstream.exchange.send_token(token, pending.complete))
            return PendingFrame(pending, unchanged)
        authentication.takes_raw_tokens = False
        try:
            api_key, api_version, correlation_id, client_id, position = codec.header_fields(
                buffer, start, end
            )
        except codec.DecodeError as error:
            return Close(f"undecodable request header: {error}")
        route = _known_route(api_key, api_version)
        if route is None:
            if self.faults.is_enabled:
                self._warn_of(api_key, api_version)
            return _sent(upstream, bytes(buffer[start:end]), unchanged)
        session = connection.session
        # fmt: off
        context = RequestContext(
            api_key, api_version, correlation_id, client_id, now_ms, end - start,
            connection.broker_id, connection.connection_id, connection.client_host,
            session.principal, session,
        )
        # fmt: on
        entry = self.begin(context, buffer, start, end) if self.notes_requests else None
        response = self._respond(upstream, route, context, frame, position)
        return response if entry is None else self.end(context, entry, response)

    @may_pause
    def _respond(
        self,
        upstream: Upstream,
        route: Route,
        context: RequestContext,
        frame: Frame,
        position: int,
    ) -> DispatchResult:
        buffer, start, end = frame

        def respond() -> DispatchResult:
            body_start = position
            if context.api_version >= route.flexible_min:
                body_start = codec.skip_tagged_fields(buffer, position, end)
            head = bytes(buffer[start:body_start])
            handle = partial(self._forward, upstream, head)
            if not self.faults.is_enabled:
                return handle(route, context, buffer, body_start, end, self._cluster)
            if route.api_key is ApiKey.FETCH and needs_all_partitions(self._live_rules()):
                body, ended = without_session(
                    context.api_version, context.correlation_id, bytes(buffer[body_start:end])
                )
                if ended is not None:
                    return ended
                return self._injector.intercept(route, context, body, 0, len(body), handle)
            return self._injector.intercept(route, context, buffer, body_start, end, handle)

        return close_on_error(context, self.report_bug, respond)

    @may_pause
    def _forward(
        self,
        upstream: Upstream,
        head: bytes,
        route: Route,
        context: RequestContext,
        buffer: bytes | bytearray,
        start: int,
        end: int,
        _cluster: Any,
    ) -> DispatchResult:
        """Send a request, and wait for its response; the handler of an `Injector`."""
        handler = quota_handler(route.api_key, self._cluster)
        if handler is None:
            encode = partial(_throttled, context)
            return self._send(upstream, context, encode, head + buffer[start:end])
        send = partial(self._send, upstream, context, unchanged)
        probe = partial(_sent, upstream, encode=unchanged)
        body = bytes(buffer[start:end])
        request = QuotaRequest(context, head, body, self._cluster, send, probe)
        return follow_up(handler(request), partial(_throttled, context))

    @may_pause
    def _send(
        self,
        upstream: Upstream,
        context: RequestContext,
        encode: Callable[[CompletedResponse], CompletedResponse],
        request: bytes,
    ) -> DispatchResult:
        """Send a request, a frame without its size; return its pending response."""
        for watch in self.on_sent:
            watch(context, request)
        is_produce = context.api_key == ApiKey.PRODUCE
        if is_produce and not expects_response(request, context.api_version):
            upstream.write(upstream.exchange.send(request, None))
            self._observe(context, request, None)
            return encode(None)
        if not self.observers:
            return _sent(upstream, request, encode)

        def take(frame: bytes) -> CompletedResponse:
            self._observe(context, request, frame)
            return encode(frame)

        return _sent(upstream, request, take)

    def _live_rules(self) -> "Iterator[FaultRule]":
        return (state.rule for state in self.faults.rules() if not state.is_used_up)

    def _observe(self, context: RequestContext, request: bytes, frame: bytes | None) -> None:
        for observer in self.observers:
            observer(context, request, frame)

    def _warn_of(self, api_key: int, api_version: int) -> None:
        """Log once that no rule can fire on an API or version that nobody here knows."""
        if (api_key, api_version) not in self._unknown:
            self._unknown.add((api_key, api_version))
            log.warning(
                "no fault rule fires on an unknown request",
                api_key=api_key,
                api_version=api_version,
            )


def _sent(
    upstream: Upstream, request: bytes, encode: Callable[[bytes], CompletedResponse]
) -> DispatchResult:
    """Send a request, a frame without its size; return its pending response."""
    pending = PendingResponse()
    try:
        upstream.write(upstream.exchange.send(request, pending.complete))
    except EndError as error:
        return Close(str(error))
    return PendingFrame(pending, encode)


def _known_route(api_key: int, api_version: int) -> Route | None:
    try:
        route = proxied_route(ApiKey(api_key))
    except (KeyError, ValueError):
        return None
    return route if route.version_min <= api_version <= route.version_max else None


@may_pause
def _throttled(context: RequestContext, response: CompletedResponse) -> CompletedResponse:
    """Return a response with the throttle time and the mute of a rule or quota of the proxy."""
    if not context.throttle_time_ms:
        return response
    if isinstance(response, bytes):
        response = with_throttle_time(context, response)
    quota = context.throttled_by
    if quota is None or not isinstance(response, bytes | None):
        return response
    return throttled_response(context, quota, response)
