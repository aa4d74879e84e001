"""Ranges of offsets are neither empty nor inverted."""

from dataclasses import replace

import pytest

from broker.share_groups.acknowledgement import AcknowledgementBatch
from broker.share_groups.acquisition import AcquiredRecords
from broker.share_groups.in_flight import StateBatch
from broker.share_groups.offset_range import OffsetRange


def test_the_length_of_a_range_is_the_number_of_its_offsets() -> None:
    assert [len(OffsetRange(5, last)) for last in (5, 6, 9)] == [1, 2, 5]


@pytest.mark.parametrize(
    "offsets",
    [
        OffsetRange(5, 9),
        AcquiredRecords(5, 9, 1),
        StateBatch(5, 9, 2, 1),
        AcknowledgementBatch(5, 9, (1,)),
    ],
)
def test_no_range_begins_past_its_end(offsets: OffsetRange) -> None:
    with pytest.raises(ValueError, match="offset 10 is past offset 9"):
        replace(offsets, first_offset=10)
    with pytest.raises(ValueError, match="offset 5 is past offset 4"):
        replace(offsets, last_offset=4)
