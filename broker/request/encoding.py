"""Encode the result of a handler as a response frame."""

from collections.abc import Callable
from dataclasses import replace
from struct import Struct
from typing import Any, TypeVar

from broker.pending_response import Failed
from broker.request.context import RequestContext
from broker.responses import Close, CompletedResponse, EncodedParts, Throttled, ThrottlingQuota
from broker.routes import Route
from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.pacing import MessageTooLargeError, may_pause

BugReporter = Callable[[BaseException, RequestContext], None]
"""Called with an exception of our own code and the request that caused it."""

_T = TypeVar("_T")
_THROTTLE_TIME = Struct(">i")


@may_pause
def encode_response(route: Route, context: RequestContext, response: Any) -> CompletedResponse:
    """Return the frame of a handler's response, or the close that the handler asked for.

    `response` is a message, an encoded body, a `Close`, or None for no response. If a quota
    throttles the request, the result is `Throttled`.

    Raises:
        Exception: what a `Failed` has; it was raised while the request waited.
    """
    quota = context.throttled_by
    if response is None:
        return None if quota is None else throttled_response(context, quota, None)
    if isinstance(response, Close):
        if response.response is None:
            return response
        return replace(response, response=encode_response(route, context, response.response))
    if type(response) is EncodedParts:
        if not context.throttle_time_ms and quota is None:
            has_tagged_header = context.api_version >= route.flexible_min
            return frame_parts(context.correlation_id, response, has_tagged_header)
        response = response.joined()
    body = response
    if not isinstance(response, (bytes, bytearray)):
        if type(response) is Failed:
            raise response.error
        if context.throttle_time_ms and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = context.throttle_time_ms
        body = codec.encode_body(response, context.api_version)
    elif context.throttle_time_ms and messages.begins_with_throttle(
        route.api_key, context.api_version
    ):
        body = _THROTTLE_TIME.pack(context.throttle_time_ms) + body[_THROTTLE_TIME.size :]
    has_tagged_header = context.api_version >= route.tagged_header_min
    frame = codec.frame_response(context.correlation_id, body, has_tagged_header=has_tagged_header)
    return frame if quota is None else throttled_response(context, quota, frame)


def frame_parts(correlation_id: int, body: EncodedParts, has_tagged_header: bool) -> EncodedParts:
    """Return a response frame around a body in parts."""
    header = codec.frame_header(
        correlation_id, body.size_bytes, has_tagged_header=has_tagged_header
    )
    return EncodedParts([header, *body.parts], body.size_bytes + len(header))


def throttled_response(
    context: RequestContext, quota: ThrottlingQuota, frame: bytes | None
) -> Throttled:
    """Return a response that mutes the connection, and record that in the metrics of the quota."""
    quota.note_throttle(
        context.principal, context.client_id, context.throttle_time_ms, context.now_ms
    )
    return Throttled(frame, context.throttle_time_ms, quota)


@may_pause
def close_on_error(
    context: RequestContext, report_bug: BugReporter, respond: Callable[[], _T]
) -> _T | Close:
    """Return what `respond` returns, or a `Close` if it raises: that hurts no other client."""
    try:
        return respond()
    except Exception as error:  # noqa: BLE001 - a bug of ours must not hurt other clients
        return closed_by(error, context, report_bug)


def closed_by(error: Exception, context: RequestContext, report_bug: BugReporter) -> Close:
    """Return the `Close` for what the handling of a request raised, and report a bug of ours."""
    name = f"{ApiKey(context.api_key).name} v{context.api_version}"
    if isinstance(error, codec.DecodeError):
        return Close(f"undecodable {name}: {error}")
    if isinstance(error, MessageTooLargeError):
        return Close(f"response to {name} (response.bytes.max): {error}")
    report_bug(error, context)
    return Close(f"internal error in {name}: {error!r}")
