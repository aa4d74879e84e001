"""Acknowledgements: what is valid, and which state each offset gets."""

import pytest

from broker.share_groups.acknowledgement import AcknowledgementBatch, are_valid
from broker.share_groups.in_flight import RecordState


@pytest.mark.parametrize(
    "batches",
    [
        [(0, 4, (1,)), (3, 5, (1,))],
        [(0, 1, ())],
        [(0, 2, (1, 1))],
        [(0, 0, (5,))],
        [(0, 0, (-1,))],
    ],
)
def test_malformed_batches_are_invalid(batches: list[tuple[int, int, tuple[int, ...]]]) -> None:
    assert not are_valid([AcknowledgementBatch(*batch) for batch in batches], may_renew=True)


def test_a_lock_is_renewed_only_by_a_request_that_says_so() -> None:
    batches = [AcknowledgementBatch(0, 1, (1, 4))]

    assert are_valid(batches, may_renew=True)
    assert not are_valid(batches, may_renew=False)


def test_batches_that_ascend_with_one_type_or_one_for_each_offset_are_valid() -> None:
    batches = [AcknowledgementBatch(0, 1, (0, 3)), AcknowledgementBatch(2, 9, (2,))]
    assert are_valid(batches, may_renew=False)
    assert are_valid([], may_renew=False)


def test_each_offset_gets_its_own_state_or_that_of_all() -> None:
    batch = AcknowledgementBatch(5, 8, (0, 1, 2, 3))

    assert [batch.state_of(offset) for offset in range(5, 9)] == [
        RecordState.ARCHIVED,
        RecordState.ACKNOWLEDGED,
        RecordState.AVAILABLE,
        RecordState.ARCHIVED,
    ]
    assert AcknowledgementBatch(5, 8, (1,)).state_of(8) is RecordState.ACKNOWLEDGED
