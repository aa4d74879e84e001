"""Sequence numbers that a log holds, compared with a set of positions."""

from hypothesis import given
from hypothesis import strategies as st

from broker.audit.stored_sequences import StoredSequences
from producer_state.rules import SEQUENCE_MAX, sequence_after

BATCHES = st.lists(st.tuples(st.integers(-40, 40), st.integers(1, 12)), max_size=30)
FIRSTS = st.sampled_from((0, 5, 2**30, SEQUENCE_MAX - 20, SEQUENCE_MAX))


@given(FIRSTS, BATCHES, st.integers(-60, 60), st.integers(1, 15))
def test_ranges_behave_like_a_set_of_positions(
    first: int, batches: list[tuple[int, int]], base_sequence: int, count: int
) -> None:
    stored = StoredSequences()
    expected: set[int] = set()
    for position, records_count in [(0, 3), *batches]:
        positions = set(range(position, position + records_count))
        is_behind = bool(expected) and position <= max(expected)
        assert stored.add(sequence_after(first, position), records_count) == (
            len(positions & expected),
            is_behind,
        )
        expected |= positions
        assert stored.newest_sequence == sequence_after(first, max(expected))

    missing = [
        position
        for position in range(base_sequence, base_sequence + count)
        if position not in expected
    ]
    assert stored.first_missing(sequence_after(first, base_sequence), count) == (
        first + missing[0] if missing else None
    )
    assert stored.first == first + min(expected)


def test_positions_ascend_when_sequences_wrap() -> None:
    stored = StoredSequences()
    assert stored.newest_sequence == -1
    assert stored.add(SEQUENCE_MAX - 1, 2) == (0, False)
    assert stored.add(0, 5) == (0, False)
    assert stored.add(SEQUENCE_MAX, 1) == (1, True)
    assert stored.newest_sequence == 4
    assert stored.first_missing(SEQUENCE_MAX - 1, 7) is None
    assert stored.first_missing(4, 2) == SEQUENCE_MAX + 1 + 5


def test_a_batch_that_joins_two_ranges_counts_what_each_of_them_has() -> None:
    stored = StoredSequences()
    stored.add(0, 2)
    stored.add(10, 2)
    assert stored.add(1, 10) == (2, True)
    assert stored.first_missing(0, 12) is None
