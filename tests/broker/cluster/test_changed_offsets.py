"""The ranges of offsets that cleaning has changed."""

from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.changed_offsets import CleanedOffsets


@given(st.sets(st.integers(0, 30)), st.integers(0, 31), st.integers(0, 31))
def test_what_was_cleaned_behind_the_new_end_of_a_log_is_forgotten(
    cleaned: set[int], first_dirty_offset: int, offset: int
) -> None:
    known = CleanedOffsets()
    known.replace([(number, number + 1) for number in sorted(cleaned)], first_dirty_offset)
    known.truncate(offset)
    assert {number for number in range(40) if known.has(number)} == {
        number for number in cleaned if number < offset
    }
    assert known.first_dirty_offset == min(first_dirty_offset, offset)
