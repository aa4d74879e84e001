"""Combining state batches, beside a model that has the state of each offset."""

from hypothesis import given
from hypothesis import strategies as st

from broker.share_groups.in_flight import StateBatch
from broker.share_groups.state_batches import combine_batches


@st.composite
def state_batch(draw: st.DrawFn) -> StateBatch:
    first = draw(st.integers(0, 20))
    return StateBatch(
        first,
        first + draw(st.integers(0, 6)),
        draw(st.sampled_from([0, 2, 4])),
        draw(st.integers(1, 3)),
    )


BATCHES = st.lists(state_batch(), max_size=6)


@given(BATCHES, BATCHES, st.integers(-1, 25))
def test_of_each_offset_the_state_with_the_most_deliveries_is_kept(
    stored: list[StateBatch], written: list[StateBatch], start_offset: int
) -> None:
    combined = combine_batches(stored, written, start_offset)

    expected: dict[int, tuple[int, int]] = {}
    for batch in (*stored, *written):
        for offset in range(max(batch.first_offset, start_offset), batch.last_offset + 1):
            state = (batch.delivery_count, batch.delivery_state)
            expected[offset] = max(expected.get(offset, (0, 0)), state)
    found = {
        offset: (batch.delivery_count, batch.delivery_state)
        for batch in combined
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }
    assert found == expected
    assert sum(b.last_offset - b.first_offset + 1 for b in combined) == len(found)
    assert [b.first_offset for b in combined] == sorted(b.first_offset for b in combined)


def test_batches_that_follow_each_other_with_one_state_are_joined() -> None:
    assert combine_batches([StateBatch(0, 4, 2, 1)], [StateBatch(5, 9, 2, 1)], -1) == [
        StateBatch(0, 9, 2, 1)
    ]
    assert combine_batches([StateBatch(0, 4, 2, 1)], [StateBatch(6, 9, 2, 1)], 2) == [
        StateBatch(2, 4, 2, 1),
        StateBatch(6, 9, 2, 1),
    ]
