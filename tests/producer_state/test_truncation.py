"""Producers whose batches a log has lost."""

from hypothesis import given
from hypothesis import strategies as st

from producer_state.producer_state_manager import ProducerStateManager
from producer_state.truncation import StoredBatch

BATCHES = st.lists(
    st.tuples(st.integers(1, 40), st.booleans(), st.one_of(st.none(), st.integers(0, 3))),
    max_size=60,
)


@given(BATCHES, st.integers(0, 60), st.sampled_from([1, 5]))
def test_producers_are_known_by_the_batches_that_are_left(
    drawn: list[tuple[int, bool, int | None]], kept: int, batches: int
) -> None:
    stored = [
        StoredBatch(producer_id, 0, 2 * offset, 1, 2 * offset, 1000 + offset, is_open, marker)
        for offset, (producer_id, is_open, marker) in enumerate(drawn)
    ]
    lost, never = (ProducerStateManager(batches=batches, window=100) for _ in range(2))
    for batch in stored:
        batch.apply_to(lost)
    for batch in stored[:kept]:
        batch.apply_to(never)

    gone = {batch.producer_id for batch in stored[kept:]}
    lost.replay(gone, (batch for batch in stored[:kept] if batch.producer_id in gone))

    assert [lost.entry(n) for n in range(1, 41)] == [never.entry(n) for n in range(1, 41)]
    assert (len(lost), lost.first_unstable_offset) == (len(never), never.first_unstable_offset)
