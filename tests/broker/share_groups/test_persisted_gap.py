"""Gaps between stored batches; `test_share_partition` has what a leader does with them."""

from broker.share_groups.in_flight import InFlightBatch, InFlightState, RecordState
from broker.share_groups.in_flight_records import InFlightRecords
from broker.share_groups.offset_range import OffsetRange
from broker.share_groups.persisted_gap import PersistedGap


def test_a_gap_moves_behind_what_is_in_flight_and_ends_with_the_stored_batches() -> None:
    records = InFlightRecords()
    records.add(InFlightBatch(OffsetRange(2, 3), InFlightState(RecordState.ARCHIVED, 1)))
    gap = PersistedGap()
    gap.start_offset, gap.end_offset = 0, 5
    assert (gap.open_start(5), gap.open_start(6)) == (0, None)

    gap.move(2, records, end_offset=5)
    assert gap.start_offset == 4
    gap.move(6, records, end_offset=5)
    assert gap.start_offset is None


def test_a_gap_is_closed_once_later_records_were_acquired() -> None:
    gap = PersistedGap()
    gap.start_offset, gap.end_offset = 0, 5

    gap.move(1, InFlightRecords(), end_offset=9)

    assert gap.start_offset is None
