"""Which records of a read are delivered."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.share_groups.acquisition import (
    AbortedRange,
    AcquiredRecords,
    Acquisition,
    FetchedBatch,
    aborted_batches,
    last_offset_to_acquire,
    overlapping_bytes,
    record_count,
    split_by_size,
    without_batches,
)
from broker.share_groups.in_flight import InFlightBatch, InFlightState, RecordState
from broker.share_groups.offset_range import OffsetRange
from broker.share_groups.share_rules import ShareRules

RULES = ShareRules(record_locks_max=100, delivery_count_max=5)
SINCE_4_2 = replace(RULES, isolates_bad_records=True)
SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=8)


def batches_of(sizes: list[int], first: int = 0) -> list[FetchedBatch]:
    """Return consecutive batches; each offset has ten bytes."""
    found = []
    for size in sizes:
        found.append(FetchedBatch(first, first + size - 1, 10 * size))
        first += size
    return found


@given(SIZES, st.integers(1, 12))
def test_split_batches_cover_the_range_and_all_but_the_last_have_the_size(
    sizes: list[int], batch_size: int
) -> None:
    batches = batches_of(sizes)
    last_offset = batches[-1].last_offset

    parts = split_by_size(batches, 0, last_offset, batch_size)

    covered = [
        offset for part in parts for offset in range(part.first_offset, part.last_offset + 1)
    ]
    assert covered == list(range(last_offset + 1))
    assert record_count(parts) == last_offset + 1
    assert all(len(part) >= batch_size for part in parts[:-1])
    assert {part.first_offset for part in parts} <= {batch.base_offset for batch in batches}


@given(SIZES, st.data())
def test_a_batch_of_the_log_is_acquired_to_its_end(sizes: list[int], data: st.DataObject) -> None:
    batches = batches_of(sizes)
    offset = data.draw(st.integers(0, batches[-1].last_offset))

    last_offset = last_offset_to_acquire(batches, offset)

    assert last_offset >= offset
    assert last_offset in {batch.last_offset for batch in batches}
    assert last_offset_to_acquire(batches, 1000) == 1000


def test_batches_of_a_producer_are_aborted_from_its_transaction_to_the_marker() -> None:
    def batch(offset: int, producer_id: int, *, is_abort: bool = False) -> FetchedBatch:
        return FetchedBatch(offset, offset, 0, producer_id, True, is_abort)

    read = [
        batch(0, 1),
        batch(1, 2),
        FetchedBatch(2, 2),
        batch(3, 1, is_abort=True),
        batch(4, 1),
        batch(5, 2),
    ]

    found = aborted_batches(read, [AbortedRange(2, 5), AbortedRange(1, 0)])

    assert [one.base_offset for one in found] == [0, 5]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6)), max_size=6),
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=6),
)
def test_excluded_offsets_are_not_acquired_and_all_others_are(
    acquired_sizes: list[tuple[int, int]], excluded_sizes: list[tuple[int, int]]
) -> None:
    def ranges(sizes: list[tuple[int, int]]) -> list[tuple[int, int]]:
        found, offset = [], 0
        for gap, size in sizes:
            offset += gap
            found.append((offset, offset + size - 1))
            offset += size
        return found

    acquired = [AcquiredRecords(first, last, 2) for first, last in ranges(acquired_sizes)]
    excluded = [FetchedBatch(first, last) for first, last in ranges(excluded_sizes)]

    left = without_batches(acquired, excluded)

    def offsets(parts: list[tuple[int, int]]) -> list[int]:
        return [offset for first, last in parts for offset in range(first, last + 1)]

    gone = set(offsets([batch[:2] for batch in excluded]))
    expected = [offset for offset in offsets(ranges(acquired_sizes)) if offset not in gone]
    assert offsets([(part.first_offset, part.last_offset) for part in left]) == expected


def test_only_the_bytes_of_batches_with_acquired_records_are_sent() -> None:
    batches = batches_of([2, 2, 2, 2])

    assert overlapping_bytes(batches, [AcquiredRecords(3, 4, 1)]) == (20, 60)
    assert overlapping_bytes(batches, [AcquiredRecords(0, 7, 1)]) == (0, 80)
    assert overlapping_bytes(batches_of([3], first=5), [AcquiredRecords(6, 6, 1)]) == (0, 30)


def test_a_part_of_an_available_batch_is_acquired_offset_by_offset() -> None:
    batch = InFlightBatch(OffsetRange(0, 3), InFlightState(RecordState.AVAILABLE, 1))

    assert acquire(batch, 1, 2) == [(1, 1, 2), (2, 2, 2)]
    assert acquire(batch, 0, 9) == [(0, 0, 2), (3, 3, 2)]


def acquire(
    batch: InFlightBatch,
    first: int,
    last: int,
    records_max: int = 100,
    *,
    is_record_limit: bool = False,
    rules: ShareRules = RULES,
) -> list[tuple[int, int, int]]:
    """Acquire the available records of a batch in flight of a read."""
    what = Acquisition("m", [], first, last, 100, 50, is_record_limit, rules)
    acquired = what.acquire_available(batch, records_max, is_isolated=what.has_bad_records(batch))
    return [(part.first_offset, part.last_offset, part.delivery_count) for part in acquired]


def available(size: int, delivery_count: int) -> InFlightBatch:
    state = InFlightState(RecordState.AVAILABLE, delivery_count)
    return InFlightBatch(OffsetRange(0, size - 1), state)


def test_a_record_limit_is_never_exceeded() -> None:
    batch = available(4, 1)

    assert acquire(batch, 0, 3, 3, is_record_limit=True, rules=SINCE_4_2) == [(0, 2, 2)]
    assert acquire(batch, 0, 3, 3, is_record_limit=True, rules=SINCE_4_2) == [(3, 3, 2)]
    assert acquire(available(4, 1), 0, 3, 3, rules=SINCE_4_2) == [(0, 3, 2)]


@pytest.mark.parametrize(("delivery_count", "count"), [(0, 40), (1, 40), (2, 40), (3, 20), (4, 1)])
def test_records_that_were_delivered_often_come_in_small_numbers(
    delivery_count: int, count: int
) -> None:
    batch = available(40, delivery_count)

    assert acquire(batch, 0, 39, rules=SINCE_4_2) == [(0, count - 1, delivery_count + 1)]
    assert len(acquire(available(40, delivery_count), 0, 39)) == 1


def test_the_last_delivery_of_a_record_is_its_own() -> None:
    batch = available(3, 1)
    batch.split()
    batch.offset_states[1].delivery_count = 4

    assert acquire(batch, 0, 2, rules=SINCE_4_2) == [(0, 0, 2)]
    assert acquire(batch, 0, 2, rules=SINCE_4_2) == [(1, 1, 5)]
    assert acquire(batch, 0, 2, rules=SINCE_4_2) == [(2, 2, 2)]
