"""A parked answer is given once, and to whoever attached."""

from broker.pending_response import Parked


def test_an_answer_before_anybody_attached_is_kept() -> None:
    parked = Parked()
    parked.complete("answer")
    assert (parked.is_done, parked.response) == (True, "answer")


def test_only_the_first_answer_is_delivered() -> None:
    parked, delivered = Parked(), list[str]()
    parked.attach(delivered.append)
    parked.complete("first")
    parked.complete("second")
    assert delivered == ["first"]


def test_an_abandoned_one_tells_its_owner_once_and_delivers_nothing() -> None:
    told, delivered = list[str](), list[str]()
    parked = Parked(on_abandon=lambda: told.append("gone"))
    parked.attach(delivered.append)
    parked.abandon()
    parked.abandon()
    parked.complete("late")
    assert (told, delivered) == (["gone"], [])


def test_one_that_is_done_is_neither_abandoned_nor_hurried() -> None:
    told = list[str]()
    parked = Parked(lambda: told.append("gone"), lambda _now_ms: told.append("hurry"))
    parked.complete("answer")
    parked.abandon()
    parked.hurry(5)
    assert told == []


def test_a_hurried_one_is_completed_by_its_owner() -> None:
    parked = Parked(on_hurry=lambda now_ms: parked.complete(f"at {now_ms}"))
    parked.hurry(7)
    assert parked.response == "at 7"
