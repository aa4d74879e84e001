"""A pending response is delivered once, to the connection that attached."""

from broker.pending_response import PendingResponse


def test_a_response_before_attach_is_kept() -> None:
    pending = PendingResponse()
    pending.complete("response")
    assert (pending.is_done, pending.response) == (True, "response")


def test_only_the_first_response_is_delivered() -> None:
    pending, delivered = PendingResponse(), list[str]()
    pending.attach(delivered.append)
    pending.complete("first")
    pending.complete("second")
    assert delivered == ["first"]


def test_cancel_informs_the_owner_once_and_delivers_nothing() -> None:
    calls, delivered = list[str](), list[str]()
    pending = PendingResponse(on_cancel=lambda: calls.append("gone"))
    pending.attach(delivered.append)
    pending.cancel()
    pending.cancel()
    pending.complete("late")
    assert (calls, delivered) == (["gone"], [])


def test_a_completed_response_cannot_be_cancelled_or_force_completed() -> None:
    calls = list[str]()
    pending = PendingResponse(
        lambda: calls.append("gone"), lambda _now_ms: calls.append("force_complete")
    )
    pending.complete("response")
    pending.cancel()
    pending.force_complete(5)
    assert calls == []


def test_force_complete_lets_the_owner_complete_the_response() -> None:
    pending = PendingResponse(on_force_complete=lambda now_ms: pending.complete(f"at {now_ms}"))
    pending.force_complete(7)
    assert pending.response == "at 7"
