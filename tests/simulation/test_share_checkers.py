"""Some checkers of share groups, on histories of one record that are written by hand."""

from tests.simulation.share_checkers import (
    REJECTED,
    TOO_OFTEN,
    by_record,
    dead_letters,
    one_holder,
    renewed_locks,
)
from tests.simulation.share_history import (
    Acknowledgement,
    AcknowledgeType,
    DeadLetter,
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


def queue_violations(
    *acknowledgements: Acknowledgement,
    copies: int,
    loads_ms: list[int],
    count: int = 1,
    reason: str = REJECTED,
) -> list[str]:
    """Return what is wrong if the record of `FIRST` is so often in the dead letter queue."""
    history = ShareHistory(
        LOCK_MS,
        delivery_count_max=2,
        deliveries=[FIRST],
        acknowledgements=list(acknowledgements),
        queued={"g"},
        loads={("g", ("t", 0)): loads_ms},
        ends={("g", ("t", 0)): 1},
        dead_letters=[DeadLetter("g", ("t", 0), 0, count, reason)] * copies,
    )
    return list(dead_letters(history, by_record(history)))


REJECTION = Acknowledgement(FIRST, 0, AcknowledgeType.REJECT, 400, 500)


def test_a_rejected_record_is_a_dead_letter_once() -> None:
    assert len(queue_violations(REJECTION, copies=0, loads_ms=[100])) == 1
    assert not queue_violations(REJECTION, copies=1, loads_ms=[100])
    assert len(queue_violations(REJECTION, copies=2, loads_ms=[100])) == 1


def test_a_leader_that_loads_a_partition_again_may_write_once_more() -> None:
    assert not queue_violations(REJECTION, copies=2, loads_ms=[100, 600])
    assert len(queue_violations(REJECTION, copies=3, loads_ms=[100, 600])) == 1


def test_an_accepted_record_is_no_dead_letter() -> None:
    assert not queue_violations(accept(FIRST, 400, 500), copies=0, loads_ms=[100])
    assert queue_violations(accept(FIRST, 400, 500), copies=1, loads_ms=[100])


def test_a_dead_letter_has_a_count_and_a_reason_that_are_right() -> None:
    assert queue_violations(REJECTION, copies=1, loads_ms=[100], count=2)
    assert queue_violations(REJECTION, copies=1, loads_ms=[100], reason=TOO_OFTEN)
    assert queue_violations(copies=1, loads_ms=[100])
