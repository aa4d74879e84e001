"""One request's whole path: header, route, body, handler, response frame.

What a client did wrong never raises out of here: the answer is then a `Close` with its reason.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from broker.clock import perf_ns
from broker.context import RequestContext
from broker.effects import Answer, Close, LateAnswer, Throttled, Waiting
from broker.faults.answer_overlay import laid_over
from broker.faults.error_answers import Framed, error_answer
from broker.faults.injection import Injection
from broker.faults.partial_errors import merged, split
from broker.faults.rule import BEFORE_HANDLING
from broker.handlers.k18_api_versions import unsupported_version_response
from broker.parked import Parked
from broker.registry import Route
from broker.security.authentication import answer_raw_token
from broker.throttling import charge_time
from protocol import codec, produce
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.framing import Frame

if TYPE_CHECKING:
    from broker.cluster import Cluster
    from broker.connection import Connection
    from broker.faults.rule import FaultRule
    from broker.journal import Entry
    from broker.throttling import ThrottlingQuota

_Answer = TypeVar("_Answer")
BugReporter = Callable[[BaseException, RequestContext], None]


APIS_OF_AUTHENTICATION = frozenset(
    {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
)


class Dispatcher:
    """Answers frames from the register of handlers, on behalf of one cluster."""

    def __init__(
        self,
        cluster: "Cluster",
        report_bug: BugReporter,
        now_ns: Callable[[], int] = perf_ns,
    ) -> None:
        """`report_bug` is told when a handler raised; the connection is closed in any case.

        `now_ns` measures what a quota on handlers' time or the journal asks for, and is read for
        nothing else.
        """
        self._cluster = cluster
        self._journal = cluster.journal
        self._acknowledgements = cluster.acknowledgements
        self._report_bug = report_bug
        self._now_ns = now_ns

    # The hottest function there is: a call more costs what a line less would explain.
    def answer(  # noqa: C901, PLR0912
        self, frame: Frame, connection: "Connection", now_ms: int
    ) -> Answer:
        """Answer one frame of a connection."""
        buffer, start, end = frame
        session = connection.session
        is_limited = session.limited_from_ms <= now_ms
        if is_limited and session.takes_raw_tokens:
            token = bytes(buffer[start:end])
            raw = answer_raw_token(session, token, self._cluster, now_ms)
            return Waiting(raw, _as_it_is) if isinstance(raw, Parked) else raw
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
        journal = self._journal
        entry = None
        if journal.is_enabled:
            entry = journal.begin(context, buffer, start, end, self._now_ns())
        answer: Answer
        try:
            if api_version >= route.flexible_min:
                if position < end and buffer[position] == 0:
                    position += 1
                else:
                    position = codec.skip_tagged_fields(buffer, position, end)
            if cluster.faults.is_enabled:
                answer = self._inject(route, context, buffer, position, end)
            else:
                answer = self._handle(route, context, buffer, position, end, cluster)
        except codec.DecodeError as error:
            answer = Close(f"undecodable {route.api_key.name} v{api_version}: {error}")
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
            self._report_bug(error, context)
            answer = Close(f"internal error in {route.api_key.name} v{api_version}: {error!r}")
        acknowledgements = self._acknowledgements
        if acknowledgements.is_enabled:
            answer = acknowledgements.follow(context, answer)
        return answer if entry is None else self._note(entry, answer)

    def _note(self, entry: "Entry", answer: Answer) -> Answer:
        """Have the journal know the answer, now or when it comes."""
        journal = self._journal
        if not isinstance(answer, Waiting):
            journal.end(entry, answer, self._now_ns())
            return answer
        journal.park(entry)

        def encode(response: Any) -> LateAnswer:
            late = answer.encode(response)
            journal.end(entry, late, self._now_ns())
            return late

        return Waiting(answer.parked, encode)

    def _inject(
        self,
        route: Route,
        context: RequestContext,
        buffer: bytes | bytearray,
        start: int,
        end: int,
    ) -> Answer:
        """Handle a request as the rules want it that fire on it, now or when they let it."""

        def decode() -> Any:
            if route.is_raw:
                return produce.decode_request(context.api_version, buffer, start, end)
            return codec.decode_request(route.api_key, context.api_version, buffer, start, end)

        by_schema = partial(
            codec.decode_request, route.api_key, context.api_version, buffer, start, end
        )
        verdict = self._cluster.faults.judge(context, decode, by_schema)
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

        def handle(cluster: Any) -> Answer:
            return self._guarded(
                route, context, lambda: self._handle(route, context, body, 0, len(body), cluster)
            )

        def fail(error_code: ErrorCode, frame: bytes | None) -> LateAnswer:
            def encode() -> LateAnswer:
                answer = error_answer(context, asked, error_code, self._cluster)
                if isinstance(answer, Framed):
                    return answer.frame
                if frame is not None and parts is not None:
                    return merged(context, frame, answer)
                return _encode(route, context, answer)

            return self._guarded(route, context, encode)

        lay_over = partial(self._lay_over, route, context, rule)
        is_partial = parts is not None
        injection = Injection(
            self._cluster, context, verdict, handle, fail, lay_over, is_partial=is_partial
        )
        return injection.begin()

    def _lay_over(
        self, route: Route, context: RequestContext, rule: "FaultRule", frame: bytes
    ) -> LateAnswer:
        return self._guarded(route, context, lambda: laid_over(context, frame, rule.answer or {}))

    def _handle(
        self,
        route: Route,
        context: RequestContext,
        buffer: bytes | bytearray,
        position: int,
        end: int,
        cluster: "Cluster",
    ) -> Answer:
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
        if type(response) is Parked:
            return Waiting(response, lambda late: self._encode_late(route, context, late))
        return _encode(route, context, response)

    def _encode_late(self, route: Route, context: RequestContext, response: Any) -> LateAnswer:
        return self._guarded(route, context, lambda: _encode(route, context, response))

    def _guarded(
        self, route: Route, context: RequestContext, answer: "Callable[[], _Answer]"
    ) -> "_Answer | Close":
        """What `answer` gives, or the end of the connection as in `answer`."""
        try:
            return answer()
        except codec.DecodeError as error:
            return Close(f"undecodable {route.api_key.name} v{context.api_version}: {error}")
        except Exception as error:  # noqa: BLE001 - as above
            self._report_bug(error, context)
            return Close(f"internal error in {route.api_key.name}: {error!r}")


def _as_it_is(answer: Any) -> Any:
    return answer


def _encode(route: Route, context: RequestContext, response: Any) -> LateAnswer:
    quota = context.throttled_by
    if response is None:
        return None if quota is None else _throttled(context, quota, None)
    if isinstance(response, Close):
        if response.answer is None:
            return response
        return replace(response, answer=_encode(route, context, response.answer))
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


def _throttled(context: RequestContext, quota: "ThrottlingQuota", frame: bytes | None) -> Throttled:
    quota.note_throttle(
        context.principal, context.client_id, context.throttle_time_ms, context.now_ms
    )
    return Throttled(frame, context.throttle_time_ms, quota)
