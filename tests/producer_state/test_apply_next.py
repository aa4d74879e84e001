"""The shorter way of a batch that goes on where its producer stopped, against `check` and `apply`.

Both are also compared with a model in `test_producers_machine.py`.
"""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producer_state.producer_state_manager import ProducerStateManager
from producer_state.rules import APPEND, SEQUENCE_MAX

both_rules = pytest.mark.parametrize("batches", [5, 1], ids=["kafka", "kip-758"])


class SentBatch(NamedTuple):
    """A batch; `gap` is how far its sequence number is from the next one."""

    producer_id: int
    epoch: int
    gap: int
    last_offset_delta: int
    timestamp_ms: int
    is_transactional: bool


def rarely(values: st.SearchStrategy[int]) -> st.SearchStrategy[int]:
    return st.integers(0, 5).flatmap(lambda chance: values if chance == 0 else st.just(0))


sent_batches = st.builds(
    SentBatch,
    producer_id=st.integers(0, 2),
    epoch=rarely(st.integers(1, 2)),
    gap=rarely(st.integers(-3, 3)),
    last_offset_delta=st.integers(0, 3) | st.integers(2**28, 2**30),
    timestamp_ms=st.integers(0, 100),
    is_transactional=st.integers(0, 9).map(lambda chance: chance == 0),
)


def new_producers(batches: int) -> ProducerStateManager:
    return ProducerStateManager(batches=batches, window=1000)


def is_stored(
    producers: ProducerStateManager, batch: SentBatch, sequence: int, base_offset: int
) -> bool:
    """Check a batch, and store it if that is the decision."""
    fields = batch.producer_id, batch.epoch, sequence, batch.last_offset_delta
    is_appended = producers.check(*fields, batch.is_transactional) is APPEND
    if is_appended:
        producers.apply(*fields, base_offset, batch.timestamp_ms, batch.is_transactional)
    return is_appended


@both_rules
@given(sent=st.lists(sent_batches, max_size=30))
def test_the_shorter_way_stores_the_same(batches: int, sent: list[SentBatch]) -> None:
    usual, shorter = new_producers(batches), new_producers(batches)
    sequences: dict[tuple[int, int], int] = {}
    for number, batch in enumerate(sent):
        place = batch.producer_id, batch.epoch
        sequence = (sequences.get(place, 0) + batch.gap) & SEQUENCE_MAX
        expected = is_stored(usual, batch, sequence, number)
        fields = *place, sequence, batch.last_offset_delta
        is_found = not batch.is_transactional and shorter.apply_next(
            *fields, number, batch.timestamp_ms
        )

        assert (is_found or is_stored(shorter, batch, sequence, number)) == expected
        assert shorter.describe() == usual.describe()
        for producer_id in range(3):
            assert shorter.entry(producer_id) == usual.entry(producer_id)
        if expected:
            sequences[place] = (sequence + batch.last_offset_delta + 1) & SEQUENCE_MAX
    assert [sum(shorter.expire_in_steps(now_ms, 50)) for now_ms in (60, 200)] == [
        sum(usual.expire_in_steps(now_ms, 50)) for now_ms in (60, 200)
    ]


@both_rules
def test_only_a_known_producer_takes_the_shorter_way(batches: int) -> None:
    producers = new_producers(batches)
    batch = SentBatch(1, 0, 0, 0, 5, is_transactional=False)
    assert not producers.apply_next(1, 0, 0, 0, 0, 5)
    assert is_stored(producers, batch, 0, 0)

    assert not producers.apply_next(1, 0, 0, 0, 1, 5)  # a duplicate
    assert not producers.apply_next(1, 1, 1, 0, 1, 5)  # another epoch
    assert not producers.apply_next(1, 0, 2, 0, 1, 5)  # behind a gap
    assert producers.apply_next(1, 0, 1, 0, 1, 5)
    [description] = producers.describe()
    assert description.last_sequence == 1


@both_rules
def test_a_transactional_producer_does_not_take_the_shorter_way(batches: int) -> None:
    producers = new_producers(batches)
    assert is_stored(producers, SentBatch(1, 0, 0, 0, 5, is_transactional=True), 0, 0)

    assert not producers.apply_next(1, 0, 1, 0, 1, 5)
