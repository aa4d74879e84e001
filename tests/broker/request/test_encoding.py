"""A handler's response becomes a frame, and what a handler raises closes one connection."""

from typing import Any

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.faults.injection import FaultThrottle
from broker.request.encoding import close_on_error, encode_response
from broker.responses import Close, Throttled
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError
from tests.broker.cluster_builder import NOW_MS, make_context

ROUTE = ROUTES[ApiKey.HEARTBEAT]


def heartbeat_response(version: int) -> Any:
    return messages.HeartbeatResponse(version=version, throttle_time_ms=0, error_code=0)


@pytest.mark.parametrize(("version", "header_bytes"), [(3, 8), (4, 9)])
def test_a_flexible_response_has_tagged_fields_in_its_header(
    version: int, header_bytes: int
) -> None:
    context = make_context(ApiKey.HEARTBEAT, version)
    message = heartbeat_response(version)
    frame = encode_response(ROUTE, context, message)
    assert isinstance(frame, bytes)
    assert frame[header_bytes:] == message.encode(version=version)


def test_a_throttled_request_gets_the_throttle_time_and_a_mute() -> None:
    context = make_context(ApiKey.HEARTBEAT, 3)
    quota = FaultThrottle()
    context.throttle(70, quota, NOW_MS)
    throttled = encode_response(ROUTE, context, heartbeat_response(3))
    assert isinstance(throttled, Throttled)
    assert (throttled.throttle_time_ms, throttled.throttled_by) == (70, quota)
    assert throttled.frame is not None
    assert messages.HeartbeatResponse.decode(throttled.frame[8:], version=3).throttle_time_ms == 70
    assert encode_response(ROUTE, context, None) == Throttled(None, 70, quota)


def test_no_response_stays_none_and_a_close_keeps_its_reason() -> None:
    context = make_context(ApiKey.HEARTBEAT, 3)
    assert encode_response(ROUTE, context, None) is None
    assert encode_response(ROUTE, context, Close("over")) == Close("over")
    last = encode_response(ROUTE, context, Close("over", b"body"))
    assert isinstance(last, Close)
    assert last.response[8:] == b"body"


def test_a_malformed_body_closes_the_connection_and_is_not_reported_as_a_bug() -> None:
    bugs: list[BaseException] = []
    context = make_context(ApiKey.HEARTBEAT, 3)

    def respond() -> bytes:
        raise DecodeError("too short")

    closed = close_on_error(context, lambda error, _context: bugs.append(error), respond)
    assert closed == Close("undecodable HEARTBEAT v3: too short")
    assert bugs == []


def test_a_bug_closes_the_connection_and_is_reported() -> None:
    bugs: list[BaseException] = []
    context = make_context(ApiKey.HEARTBEAT, 3)

    def respond() -> bytes:
        raise ZeroDivisionError

    closed = close_on_error(context, lambda error, _context: bugs.append(error), respond)
    assert isinstance(closed, Close)
    assert closed.reason.startswith("internal error in HEARTBEAT v3")
    assert [type(bug) for bug in bugs] == [ZeroDivisionError]
