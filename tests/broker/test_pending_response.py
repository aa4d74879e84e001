"""A parked response is given once, and to whoever attached."""

from broker.pending_response import PendingResponse


def test_a_response_before_anybody_attached_is_kept() -> None:
    pending = PendingResponse()
    pending.complete("response")
    assert (pending.is_done, pending.response) == (True, "response")


def test_only_the_first_response_is_delivered() -> None:
    pending, delivered = PendingResponse(), list[str]()
    pending.attach(delivered.append)
    pending.complete("first")
    pending.complete("second")
    assert delivered == ["first"]


def test_an_abandoned_one_tells_its_owner_once_and_delivers_nothing() -> None:
    told, delivered = list[str](), list[str]()
    pending = PendingResponse(on_cancel=lambda: told.append("gone"))
    pending.attach(delivered.append)
    pending.cancel()
    pending.cancel()
    pending.complete("late")
    assert (told, delivered) == (["gone"], [])


def test_one_that_is_done_is_neither_abandoned_nor_hurried() -> None:
    told = list[str]()
    pending = PendingResponse(lambda: told.append("gone"), lambda _now_ms: told.append("hurry"))
    pending.complete("response")
    pending.cancel()
    pending.force_complete(5)
    assert told == []


def test_a_hurried_one_is_completed_by_its_owner() -> None:
    pending = PendingResponse(on_force_complete=lambda now_ms: pending.complete(f"at {now_ms}"))
    pending.force_complete(7)
    assert pending.response == "at 7"
