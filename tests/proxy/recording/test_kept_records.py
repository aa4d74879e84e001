"""The newest records stay, within both bounds, and those of open transactions stay apart."""

from hypothesis import given
from hypothesis import strategies as st

from protocol.records import Record
from proxy.recording.kept_records import RECORD_OVERHEAD_BYTES, KeptRecords, size_of

KEY = ("t", 0)
OTHER = ("t", 1)


def record(offset: int, size_bytes: int = 0) -> Record:
    return Record(offset, 0, None, b"x" * size_bytes, ())


def offsets(kept: KeptRecords, key: tuple[str, int] = KEY) -> list[int]:
    return [found.offset for found in kept.records(key)]


def test_records_come_in_the_order_of_their_offsets_and_once() -> None:
    kept = KeptRecords(10_000)
    kept.add(KEY, [record(5), record(2)])
    kept.add(KEY, [record(5, 7), record(3)])
    assert offsets(kept) == [2, 3, 5]
    assert kept.records(KEY)[2].value == b""
    assert kept.count(KEY) == 3
    assert kept.size_bytes == 3 * RECORD_OVERHEAD_BYTES
    assert kept.partitions() == [KEY]
    assert (kept.count(OTHER), kept.records(OTHER)) == (0, [])


def test_the_bound_of_records_keeps_the_newest_of_each_partition() -> None:
    kept = KeptRecords(10_000, records_max=2)
    kept.add(KEY, [record(5), record(6), record(1), record(7)])
    kept.add(OTHER, [record(1)])
    assert offsets(kept) == [6, 7]
    assert offsets(kept, OTHER) == [1]
    assert kept.forgotten_count == 0


def test_the_bound_of_bytes_takes_from_the_partition_with_the_most() -> None:
    kept = KeptRecords(10 * RECORD_OVERHEAD_BYTES)
    kept.add(OTHER, [record(0), record(1)])
    kept.add(KEY, map(record, range(20)))
    assert kept.size_bytes <= 10 * RECORD_OVERHEAD_BYTES
    assert offsets(kept, OTHER) == [0, 1]
    assert offsets(kept)[-1] == 19
    assert kept.forgotten_count == 20 - kept.count(KEY)


def test_a_record_larger_than_all_is_not_kept() -> None:
    kept = KeptRecords(100)
    kept.add(KEY, [record(0, 1000)])
    kept.add_undecided(KEY, 9, [record(1, 1000)])
    assert (kept.count(KEY), kept.undecided_count, kept.size_bytes) == (0, 0, 0)
    assert kept.forgotten_count == 2


def test_a_transaction_is_kept_when_it_is_committed() -> None:
    kept = KeptRecords(10_000)
    kept.add_undecided(KEY, 9, [record(1), record(2)])
    kept.add_undecided(KEY, 8, [record(3)])
    kept.add_undecided(OTHER, 9, [record(4)])
    assert (offsets(kept), kept.undecided_count) == ([], 4)
    kept.decide(KEY, 9, 5, is_committed=True)
    kept.decide(KEY, 8, 6, is_committed=False)
    kept.decide(("u", 0), 9, 6, is_committed=True)
    assert (offsets(kept), kept.undecided_count) == ([1, 2], 1)
    kept.decide_all(9, is_committed=True)
    assert (offsets(kept, OTHER), kept.undecided_count) == ([4], 0)
    assert kept.size_bytes == 3 * RECORD_OVERHEAD_BYTES


def test_a_marker_decides_only_what_is_before_it() -> None:
    kept = KeptRecords(10_000)
    kept.add_undecided(KEY, 9, [record(1), record(7)])
    kept.decide(KEY, 9, 5, is_committed=False)
    kept.decide_all(9, is_committed=True)
    assert offsets(kept) == [7]


def test_a_committed_record_that_is_read_again_stays() -> None:
    kept = KeptRecords(10_000)
    kept.add(KEY, [record(1)])
    kept.add_undecided(KEY, 9, [record(1)])
    kept.decide_all(9, is_committed=False)
    assert offsets(kept) == [1]


def test_a_transaction_of_known_records_takes_no_memory() -> None:
    kept = KeptRecords(RECORD_OVERHEAD_BYTES)
    kept.add(KEY, [record(1)])
    kept.add_undecided(KEY, 9, [record(1)])
    kept.add(KEY, [record(2, 1000)])
    assert (kept.count(KEY), kept.undecided_count, kept.size_bytes) == (0, 0, 0)


def test_the_size_counts_headers() -> None:
    found = Record(0, 0, b"12", None, (("abc", b"d"), ("e", None)))
    assert size_of(found) == RECORD_OVERHEAD_BYTES + 2 + 4 + 1


@given(
    st.lists(
        st.tuples(st.sampled_from([KEY, OTHER]), st.integers(0, 30), st.sampled_from([None, 7, 8]))
    ),
    st.integers(0, 40),
    st.none() | st.integers(1, 5),
)
def test_bounds_hold_and_sizes_add_up(
    added: list[tuple[tuple[str, int], int, int | None]], bound: int, records_max: int | None
) -> None:
    kept = KeptRecords(bound * RECORD_OVERHEAD_BYTES, records_max)
    for key, offset, producer_id in added:
        if producer_id is None:
            kept.add(key, [record(offset)])
        else:
            kept.add_undecided(key, producer_id, [record(offset)])
        assert kept.size_bytes <= bound * RECORD_OVERHEAD_BYTES
    kept.decide_all(7, is_committed=True)
    kept.decide_all(8, is_committed=False)
    found = kept.count(KEY) + kept.count(OTHER)
    assert kept.size_bytes == found * RECORD_OVERHEAD_BYTES
    assert all(kept.count(key) <= (records_max or 100) for key in (KEY, OTHER))
