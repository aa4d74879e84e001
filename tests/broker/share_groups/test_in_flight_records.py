"""The batches in flight, in the order of their offsets."""

from hypothesis import given
from hypothesis import strategies as st

from broker.share_groups.in_flight import InFlightBatch, InFlightState, RecordState
from broker.share_groups.in_flight_records import InFlightRecords
from broker.share_groups.offset_range import OffsetRange

PARTS = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=8)


def records_of(
    parts: list[tuple[int, int]], state: RecordState = RecordState.AVAILABLE
) -> InFlightRecords:
    """Return batches with gaps; each part is a gap and a size."""
    records, offset = InFlightRecords(), 0
    for gap, size in parts:
        offset += gap
        records.add(InFlightBatch(OffsetRange(offset, offset + size - 1), InFlightState(state, 1)))
        offset += size
    return records


@given(PARTS, st.integers(0, 30), st.integers(0, 30))
def test_batches_are_found_by_any_of_their_offsets(
    parts: list[tuple[int, int]], first: int, length: int
) -> None:
    records = records_of(parts)
    last = first + length
    found = records.between(first, last)
    expected = [b for b in records if b.last_offset >= first and b.first_offset <= last]
    assert found == expected
    below = [b for b in records if b.first_offset <= first]
    assert records.floor(first) is (below[-1] if below else None)


@given(PARTS, st.integers(0, 30))
def test_batches_that_end_before_an_offset_are_removed(
    parts: list[tuple[int, int]], offset: int
) -> None:
    records = records_of(parts)
    expected = [b for b in records if b.last_offset >= offset]

    records.remove_before(offset)

    assert list(records) == expected
    assert len(records) == len(expected)


@given(PARTS, st.integers(0, 20), st.integers(0, 20))
def test_only_records_of_the_range_are_archived(
    parts: list[tuple[int, int]], first: int, length: int
) -> None:
    records = records_of(parts)
    last = first + length

    count = records.archive(first, last, RecordState.AVAILABLE)

    archived = {
        offset
        for batch in records
        for begin, end, state in batch.states()
        if state.state is RecordState.ARCHIVED
        for offset in range(begin, end + 1)
    }
    every = {o for b in records for o in range(b.first_offset, b.last_offset + 1)}
    assert archived == every & set(range(first, last + 1))
    assert count == len(archived) == records.finished_count(0, 100)
    assert records.finished_count(first, first - 1) == 0
    assert records.finished_count(first, first) == len(archived & {first})


def test_what_is_first_available_or_last_finished_is_before_a_gap() -> None:
    records = records_of([(0, 2)], RecordState.ARCHIVED)
    records.add(InFlightBatch(OffsetRange(4, 5), InFlightState(RecordState.AVAILABLE, 1)))

    assert (records.first_available(None), records.first_available(2)) == (4, 2)
    assert (records.last_finished(None), records.last_finished(1)) == (1, None)


def test_records_in_another_state_are_not_archived() -> None:
    records = records_of([(0, 3)], RecordState.ACQUIRED)

    assert not records.archive(0, 2, RecordState.AVAILABLE)
    assert [state.state for _batch, state in records.acquired_states()] == [RecordState.ACQUIRED]


def test_the_ends_are_known() -> None:
    records = records_of([(2, 2), (1, 3)])

    assert (records.first_offset, records.last_offset) == (2, 7)
