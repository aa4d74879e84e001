"""The checker of one holder, on histories of one record that are written by hand."""

from tests.simulation.share_checkers import by_record, one_holder
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
