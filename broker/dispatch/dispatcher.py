"""One request's whole path: header, route, body, handler, response frame.

What a client did wrong never raises out of here: the response is then a `Close` with its reason.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from broker import handlers  # noqa: F401 - importing the package registers the APIs
from broker.audit.acknowledgements import Acknowledgements
from broker.clock import perf_ns
from broker.cluster.cluster import Cluster
from broker.faults.error_responses import Framed, error_response
from broker.faults.injection import Injection
from broker.faults.partial_errors import merged, split
from broker.faults.response_patch import patched_response
from broker.faults.rule import BEFORE_HANDLING, FaultRule
from broker.faults.table import FaultTable
from broker.journal.journal import Entry, Journal
from broker.pending_response import PendingResponse
from broker.request.authentication import response_raw_token
from broker.request.context import RequestContext
from broker.request.session import Peer
from broker.request.throttling import charge_time
from broker.responses import (
    Close,
    CompletedResponse,
    DispatchResult,
    PendingFrame,
    Throttled,
    ThrottlingQuota,
)
from broker.routes import Route, unsupported_version_response
from protocol import codec, produce
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.framing import Frame

_Response = TypeVar("_Response")
BugReporter = Callable[[BaseException, RequestContext], None]


APIS_OF_AUTHENTICATION = frozenset(
    {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
)


class Dispatcher:
    """Answers frames from the register of handlers, on behalf of one cluster."""

    def __init__(
        self,
        cluster: Cluster,
        report_bug: BugReporter,
        now_ns: Callable[[], int] = perf_ns,
    ) -> None:
        """`report_bug` is told when a handler raised; the connection is closed in any case.

        `now_ns` measures what a quota on handlers' time or the journal asks for, and is read for
        nothing else.
        """
        self._cluster = cluster
        self.faults = FaultTable(cluster)
        self.journal = Journal(
            cluster.config["journal.entries.max"],
            cluster.config["journal.bytes.max"],
            is_enabled=cluster.config["journal.enable"],
        )
        self.acknowledgements = Acknowledgements(
            cluster.config["audit.acknowledgements.max"],
            is_enabled=cluster.config["audit.enable"],
        )
        self._report_bug = report_bug
        self._now_ns = now_ns

    # The hottest function there is: a call more costs what a line less would explain.
    def dispatch(  # noqa: C901, PLR0912
        self, frame: Frame, connection: Peer, now_ms: int
    ) -> DispatchResult:
        """DispatchResult one frame of a connection."""
        buffer, start, end = frame
        session = connection.session
        is_limited = session.limited_from_ms <= now_ms
        if is_limited and session.takes_raw_tokens:
            token = bytes(buffer[start:end])
            raw = response_raw_token(session, token, self._cluster, now_ms)
            return PendingFrame(raw, _as_it_is) if isinstance(raw, PendingResponse) else raw
        try:
            api_key, api_version, correlation_id, client_id, position = codec.decode_header(
                buffer, start, end
            )
        except codec.DecodeError as error:
            return Close(f"undecodable request header: {error}")
        if is_limited and api_key not in APIS_OF_AUTHENTICATION:
            return Close(f"API key {api_key} before authentication (ILLEGAL_SASL_STATE)")
        cluster = self._cluster
        broker_id = connection.broker_id
        route = cluster.routes[broker_id].get(api_key)
        if route is None:
            return Close(f"unknown API key {api_key}")
        if not route.version_min <= api_version <= route.version_max:
            if api_key == ApiKey.API_VERSIONS:
                return unsupported_version_response(correlation_id, route)
            return Close(f"unsupported version {api_version} of {route.api_key.name}")
        context = RequestContext(
            api_key,
            api_version,
            correlation_id,
            client_id,
            now_ms,
            end - start,
            broker_id,
            connection.connection_id,
            connection.client_host,
            session.principal,
            session,
        )
        acknowledgements = self.acknowledgements
        if acknowledgements.is_enabled:
            context.acknowledgements = []
        journal = self.journal
        entry = None
        if journal.is_enabled:
            entry = journal.begin(context, buffer, start, end, self._now_ns())
        response: DispatchResult
        try:
            if api_version >= route.flexible_min:
                if position < end and buffer[position] == 0:
                    position += 1
                else:
                    position = codec.skip_tagged_fields(buffer, position, end)
            if self.faults.is_enabled:
                response = self._inject(route, context, buffer, position, end)
            else:
                response = self._handle(route, context, buffer, position, end, cluster)
        except codec.DecodeError as error:
            response = Close(f"undecodable {route.api_key.name} v{api_version}: {error}")
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            self._report_bug(error, context)
            response = Close(f"internal error in {route.api_key.name} v{api_version}: {error!r}")
        if acknowledgements.is_enabled:
            response = acknowledgements.follow(context, response)
        return response if entry is None else self._note(entry, response)

    def _note(self, entry: Entry, result: DispatchResult) -> DispatchResult:
        """Have the journal know the response, now or when it comes."""
        journal = self.journal
        if not isinstance(result, PendingFrame):
            journal.end(entry, result, self._now_ns())
            return result
        journal.wait(entry)

        def encode(response: Any) -> CompletedResponse:
            late = result.encode(response)
            journal.end(entry, late, self._now_ns())
            return late

        return PendingFrame(result.pending, encode)

    def _inject(
        self,
        route: Route,
        context: RequestContext,
        buffer: bytes | bytearray,
        start: int,
        end: int,
    ) -> DispatchResult:
        """Handle a request as the rules want it that fire on it, now or when they let it."""

        def decode() -> Any:
            if route.is_raw:
                return produce.decode_request(context.api_version, buffer, start, end)
            return codec.decode_request(route.api_key, context.api_version, buffer, start, end)

        by_schema = partial(
            codec.decode_request, route.api_key, context.api_version, buffer, start, end
        )
        verdict = self.faults.judge(context, decode, by_schema)
        if verdict is None:
            return self._handle(route, context, buffer, start, end, self._cluster)
        context.fault = verdict.description
        context.falsified_by = verdict.falsifying_rule_ids
        # The buffer moves on, and the request may be handled later.
        body = bytes(buffer[start:end])
        rule = verdict.deciding
        parts = split(context, body, rule, self._cluster) if rule.error is not None else None
        asked = None
        if parts is not None:
            asked = parts.concerned
            if rule.at == BEFORE_HANDLING:
                body = parts.rest_body
        elif rule.error is not None:
            asked = decode()

        def handle(cluster: Any) -> DispatchResult:
            return self._guarded(
                route, context, lambda: self._handle(route, context, body, 0, len(body), cluster)
            )

        def fail(error_code: ErrorCode, frame: bytes | None) -> CompletedResponse:
            def encode() -> CompletedResponse:
                response = error_response(context, asked, error_code, self._cluster)
                if isinstance(response, Framed):
                    return response.frame
                if frame is not None and parts is not None:
                    return merged(context, frame, response)
                return _encode(route, context, response)

            return self._guarded(route, context, encode)

        apply_patch = partial(self._apply_patch, route, context, rule)
        is_partial = parts is not None
        injection = Injection(
            self._cluster,
            self.faults,
            context,
            verdict,
            handle,
            fail,
            apply_patch,
            is_partial=is_partial,
        )
        return injection.begin()

    def _apply_patch(
        self, route: Route, context: RequestContext, rule: FaultRule, frame: bytes
    ) -> CompletedResponse:
        return self._guarded(
            route, context, lambda: patched_response(context, frame, rule.response or {})
        )

    def _handle(
        self,
        route: Route,
        context: RequestContext,
        buffer: bytes | bytearray,
        position: int,
        end: int,
        cluster: Cluster,
    ) -> DispatchResult:
        quotas = self._cluster.quotas.clients
        if quotas.is_enabled and quotas.request_percentage.is_enabled:
            started_ns = self._now_ns()
            context.stopwatch = lambda: self._now_ns() - started_ns
        if route.is_raw:
            response = route.handler(context, buffer, position, end, cluster)
        else:
            request = codec.decode_request(
                route.api_key, context.api_version, buffer, position, end
            )
            response = route.handler(context, request, cluster)
        if context.stopwatch is not None:
            charge_time(context, self._cluster, context.now_ms)
        if type(response) is PendingResponse:
            return PendingFrame(response, lambda late: self._encode_late(route, context, late))
        return _encode(route, context, response)

    def _encode_late(
        self, route: Route, context: RequestContext, response: Any
    ) -> CompletedResponse:
        return self._guarded(route, context, lambda: _encode(route, context, response))

    def _guarded(
        self, route: Route, context: RequestContext, response: Callable[[], _Response]
    ) -> _Response | Close:
        """What `response` gives, or the end of the connection as in `response`."""
        try:
            return response()
        except codec.DecodeError as error:
            return Close(f"undecodable {route.api_key.name} v{context.api_version}: {error}")
        except Exception as error:  # noqa: BLE001 - as above
            self._report_bug(error, context)
            return Close(f"internal error in {route.api_key.name}: {error!r}")


def _as_it_is(response: Any) -> Any:
    return response


def _encode(route: Route, context: RequestContext, response: Any) -> CompletedResponse:
    quota = context.throttled_by
    if response is None:
        return None if quota is None else _throttled(context, quota, None)
    if isinstance(response, Close):
        if response.response is None:
            return response
        return replace(response, response=_encode(route, context, response.response))
    body = response
    if not isinstance(response, (bytes, bytearray)):
        if context.throttle_time_ms and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = context.throttle_time_ms
        body = response.encode(version=context.api_version)
    has_tagged_header = (
        context.api_version >= route.flexible_min and route.api_key != ApiKey.API_VERSIONS
    )
    frame = codec.frame_response(context.correlation_id, body, has_tagged_header=has_tagged_header)
    return frame if quota is None else _throttled(context, quota, frame)


def _throttled(context: RequestContext, quota: ThrottlingQuota, frame: bytes | None) -> Throttled:
    quota.note_throttle(
        context.principal, context.client_id, context.throttle_time_ms, context.now_ms
    )
    return Throttled(frame, context.throttle_time_ms, quota)
