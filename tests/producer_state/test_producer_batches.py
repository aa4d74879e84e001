"""The shorter way of a batch that goes on where its producer stopped, against `check` and `apply`.

Both are also compared with a model in `test_producers_machine.py`.
"""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producer_state.producer_batches import apply_each, are_next
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
    assert [shorter.expire(now_ms, 50) for now_ms in (60, 200)] == [
        usual.expire(now_ms, 50) for now_ms in (60, 200)
    ]


@both_rules
@given(
    stored=st.lists(st.lists(sent_batches, max_size=3), min_size=1, max_size=4),
    sent=st.lists(sent_batches, min_size=4, max_size=4),
)
def test_batches_for_several_partitions_are_stored_as_one_by_one(
    batches: int, stored: list[list[SentBatch]], sent: list[SentBatch]
) -> None:
    usual = [new_producers(batches) for _ in stored]
    together = [new_producers(batches) for _ in stored]
    for partition, before in enumerate(stored):
        sequence = 0
        for number, batch in enumerate(before):
            for producers in (usual[partition], together[partition]):
                is_known = is_stored(producers, batch, sequence, number)
            sequence += is_known * (batch.last_offset_delta + 1)
    request = [
        (batch.producer_id, batch.epoch, next_sequence(state, batch), batch.last_offset_delta)
        for state, batch in zip(usual, sent, strict=False)
    ]
    decisions = [
        state.check(*fields) is APPEND for state, fields in zip(usual, request, strict=True)
    ]
    produced = [
        (state, *fields, 100, batch.timestamp_ms)
        for state, fields, batch in zip(together, request, sent, strict=False)
    ]

    if are_next(produced):
        assert all(decisions)
    if all(decisions):
        for state, fields, batch in zip(usual, request, sent, strict=False):
            state.apply(*fields, 100, batch.timestamp_ms)
        apply_each(produced)
    for state, other in zip(usual, together, strict=True):
        assert other.describe() == state.describe()
        assert [other.entry(number) for number in range(3)] == [
            state.entry(number) for number in range(3)
        ]
        assert other.expire(120, 50) == state.expire(120, 50)


def next_sequence(producers: ProducerStateManager, batch: SentBatch) -> int:
    """Return the sequence number that a producer sends next, moved by the gap of its batch."""
    entry = producers.entry(batch.producer_id)
    is_known = entry is not None and entry.batches and entry.producer_epoch == batch.epoch
    last_sequence = entry.batches[0].last_sequence if entry and is_known else -1
    return (last_sequence + 1 + batch.gap) & SEQUENCE_MAX


@both_rules
def test_batches_that_go_on_in_all_partitions_are_next(batches: int) -> None:
    first, second = new_producers(batches), new_producers(batches)
    for producers, count in ((first, 3), (second, 2)):
        for sequence in range(count):
            assert is_stored(
                producers, SentBatch(1, 0, 0, 0, 5, is_transactional=False), sequence, 0
            )

    assert are_next([(first, 1, 0, 3, 0, 3, 5), (second, 1, 0, 2, 0, 2, 5)])
    assert not are_next([(first, 1, 0, 3, 0, 3, 5), (second, 1, 0, 3, 0, 2, 5)])
    assert not are_next([(first, 1, 1, 3, 0, 3, 5)])
    assert not are_next([(first, 2, 0, 0, 0, 3, 5)])


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
