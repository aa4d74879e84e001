"""Batches that are noted leave the same state as those that are applied."""

from hypothesis import given
from hypothesis import strategies as st

from producer_state.noted_batches import NotedBatches
from producer_state.producer_state_manager import ProducerStateManager
from producer_state.rules import Entry

PARTITIONS = 3
PRODUCER_ID, EPOCH = 7, 1


def new_states() -> list[ProducerStateManager]:
    """Return the state of some partitions to which the producer has written one batch each."""
    states = [ProducerStateManager(batches=1, window=1000) for _ in range(PARTITIONS)]
    for state in states:
        state.apply(PRODUCER_ID, EPOCH, 0, 0, 0, 0)
    return states


def entries(states: list[ProducerStateManager]) -> list[Entry | None]:
    return [state.entry(PRODUCER_ID) for state in states]


@given(
    st.lists(
        st.tuples(st.just("request"), st.sampled_from([0, 0, 1]))
        | st.tuples(st.just("look"), st.integers(0, PARTITIONS - 1)),
        max_size=20,
    )
)
def test_everyone_who_looks_finds_the_batches_of_the_latest_request(
    steps: list[tuple[str, int]],
) -> None:
    """Requests are of one of two connections; the second one leaves out the last partition."""
    noting, applying = new_states(), new_states()
    noted = NotedBatches(), NotedBatches()
    for sequence, (step, number) in enumerate(steps, 1):
        if step == "look":
            assert noting[number].describe() == applying[number].describe()
            continue
        row = PRODUCER_ID, EPOCH, sequence, 0, sequence, sequence
        one, two, three, four, five, six = ((field,) * PARTITIONS for field in row)
        partitions = slice(0, PARTITIONS - number)
        noted[number].note(noting[partitions], (one, two, three, four, five, six))
        for state in applying[partitions]:
            state.apply(*row)

    assert entries(noting) == entries(applying)


def test_a_request_is_noted_once_for_all_partitions_until_somebody_looks() -> None:
    states, noted = new_states(), NotedBatches()
    columns = ((PRODUCER_ID,) * 3, (EPOCH,) * 3, (1,) * 3, (0,) * 3, (1,) * 3, (1,) * 3)
    noted.note(states, columns)
    assert noted.is_everywhere

    states[1].describe()
    assert not noted.is_everywhere
    assert [state._noted is noted for state in states] == [True, False, True]

    noted.note(states, columns)
    assert noted.is_everywhere
