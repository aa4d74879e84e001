"""A response of the cluster leads to another request, or to what the client gets."""

from typing import Any

import pytest

from broker.pending_response import PendingResponse
from broker.responses import PendingFrame, unchanged
from proxy.follow_up import follow_up


def pending_frame() -> tuple[PendingResponse, PendingFrame]:
    pending = PendingResponse()
    return pending, PendingFrame(pending, unchanged)


def received(result: Any) -> list[Any]:
    """What a connection gets in the end."""
    found: list[Any] = []
    assert isinstance(result, PendingFrame)
    result.pending.attach(lambda response: found.append(result.encode(response)))
    return found


def test_a_response_that_is_there_is_followed_up_at_once() -> None:
    def go_on(response: Any) -> bytes:
        assert response == b"first"
        return b"then"

    assert follow_up(b"first", go_on) == b"then"


def test_a_response_that_waits_leads_to_another_that_waits() -> None:
    first, first_frame = pending_frame()
    second, second_frame = pending_frame()
    seen: list[Any] = []

    def go_on(response: Any) -> PendingFrame:
        seen.append(response)
        return second_frame

    found = received(follow_up(first_frame, go_on))
    first.complete(b"first")
    assert (seen, found) == ([b"first"], [])
    second.complete(b"second")
    assert found == [b"second"]


def test_the_end_of_a_client_reaches_the_request_that_waits() -> None:
    cancelled: list[str] = []
    first = PendingResponse(on_cancel=lambda: cancelled.append("first"))
    second = PendingResponse(on_cancel=lambda: cancelled.append("second"))
    result = follow_up(PendingFrame(first, unchanged), lambda _: PendingFrame(second, unchanged))
    assert isinstance(result, PendingFrame)
    first.complete(b"")
    result.pending.cancel()
    assert cancelled == ["second"]


def test_an_error_of_a_late_response_is_raised_where_it_is_encoded() -> None:
    first, frame = pending_frame()

    def fail(_response: Any) -> bytes:
        raise LookupError("no such thing")

    result = follow_up(frame, fail)
    assert isinstance(result, PendingFrame)
    late: list[Any] = []
    result.pending.attach(late.append)
    first.complete(b"")
    with pytest.raises(LookupError):
        result.encode(late[0])
