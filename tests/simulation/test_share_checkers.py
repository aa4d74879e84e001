"""The checkers of holders and of locks, on histories of one record that are written by hand."""

from tests.simulation.share_checkers import by_record, one_holder, renewed_locks
from tests.simulation.share_history import (
    Acknowledgement,
    AcknowledgeType,
    Delivery,
    ShareHistory,
)

LOCK_MS = 1_000


def deliver(member: str, delivery_count: int, sent_ms: int, written_ms: int) -> Delivery:
    return Delivery("g", ("t", 0), 0, 0, delivery_count, member, sent_ms, written_ms)


def accept(
    delivery: Delivery, sent_ms: int, written_ms: int, *, is_refused: bool = False
) -> Acknowledgement:
    return Acknowledgement(delivery, 0, AcknowledgeType.ACCEPT, sent_ms, written_ms, is_refused)


FIRST = deliver("a", 1, 0, 300)
SECOND = deliver("b", 2, 1_200, 1_300)
THIRD = deliver("b", 3, 2_400, 2_700)
LATE = accept(FIRST, 2_900, 3_200)
"""What `a` says of its delivery, whose lock expired, while `b` has the record."""


def violations(*acknowledgements: Acknowledgement) -> list[str]:
    history = ShareHistory(
        LOCK_MS,
        delivery_count_max=5,
        deliveries=[FIRST, SECOND, THIRD],
        acknowledgements=[LATE, *acknowledgements],
    )
    return list(one_holder(history, by_record(history)))


def test_an_acknowledgement_of_a_record_that_another_member_has_must_be_refused() -> None:
    (violation,) = violations()
    assert "is taken, while it is held by" in violation


def test_a_record_is_finished_by_the_acknowledgement_of_an_earlier_delivery_to_its_holder() -> None:
    assert not violations(accept(SECOND, 2_720, 3_210))


def test_a_refused_acknowledgement_finishes_no_record() -> None:
    assert len(violations(accept(SECOND, 2_720, 2_800, is_refused=True))) == 1


def test_an_acknowledgement_answered_before_a_delivery_was_requested_does_not_finish_it() -> None:
    assert len(violations(accept(SECOND, 1_400, 1_500))) == 1


def violations_of_renewal(
    later: Delivery, *acknowledgements: Acknowledgement, is_refused: bool = False
) -> list[str]:
    """Return what is wrong if `a` renews its lock at 800 to 900 ms, and `later` is delivered."""
    renewal = Acknowledgement(FIRST, 0, AcknowledgeType.RENEW, 800, 900, is_refused)
    history = ShareHistory(
        LOCK_MS,
        delivery_count_max=5,
        deliveries=[FIRST, later],
        acknowledgements=[renewal, *acknowledgements],
    )
    return list(renewed_locks(history, by_record(history)))


def test_a_record_with_a_renewed_lock_is_not_delivered_before_the_lock_ends() -> None:
    assert len(violations_of_renewal(deliver("b", 2, 1_700, 1_799))) == 1
    assert not violations_of_renewal(deliver("b", 2, 1_700, 1_800))


def test_a_lock_may_be_renewed_after_another_delivery_was_requested() -> None:
    assert not violations_of_renewal(deliver("b", 2, 899, 1_100))


def test_a_refused_renewal_keeps_no_record() -> None:
    assert not violations_of_renewal(deliver("b", 2, 1_100, 1_200), is_refused=True)


def test_a_renewed_record_may_be_released() -> None:
    released = Acknowledgement(FIRST, 0, AcknowledgeType.RELEASE, 950, 1_000)
    assert not violations_of_renewal(deliver("b", 2, 1_100, 1_200), released)
