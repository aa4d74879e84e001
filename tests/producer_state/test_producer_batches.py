"""The shorter way of a batch that goes on where its producer stopped, against `check` and `apply`.

Both are also compared with a model in `test_producers_machine.py`.
"""

from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producer_state.noted_batches import BatchColumns, NotedBatches
from producer_state.producer_batches import (
    are_next,
    requests_without_floor,
)
from producer_state.producer_state_manager import ProducerStateManager
from producer_state.rules import APPEND, SEQUENCE_MAX
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

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
            sequence = (sequence + is_known * (batch.last_offset_delta + 1)) & SEQUENCE_MAX
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

    are_noted = [
        batches == 1
        and are_next([found])
        and requests_without_floor([found[3]], [found[4] + 1]) > 0
        for found in produced
    ]
    if are_next(produced):
        assert all(decisions)
    if all(decisions):
        for state, fields, batch in zip(usual, request, sent, strict=False):
            state.apply(*fields, 100, batch.timestamp_ms)
        for is_noted, (state, *applied) in zip(are_noted, produced, strict=True):
            if is_noted:
                NotedBatches().note([state], columns_of(tuple(applied)))
            else:
                producer_id, epoch, sequence, last_delta, base_offset, timestamp_ms = applied
                state.apply(producer_id, epoch, sequence, last_delta, base_offset, timestamp_ms)
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


def columns_of(*batches: tuple[int, ...]) -> BatchColumns:
    """Return columns of (producer id, epoch, base sequence, last offset delta, offset, time)."""
    one, two, three, four, five, six = zip(*batches, strict=True)
    return one, two, three, four, five, six


def test_a_noted_batch_is_there_for_whoever_looks() -> None:
    looks: dict[str, Callable[[ProducerStateManager], object]] = {
        "describe": lambda producers: producers.describe()[0].last_sequence == 3,
        "entry": lambda producers: (
            (entry := producers.entry(1)) and entry.batches[0].base_offset == 3
        ),
        "check": lambda producers: producers.check(1, 0, 4, 0) is APPEND,
        "next": lambda producers: are_next([(producers, 1, 0, 4, 0, 4, 5)]),
        "apply": lambda producers: producers.apply_next(1, 0, 4, 0, 4, 5),
        "marker": lambda producers: producers.check_marker(1, -1, 0) is not ErrorCode.NONE,
        "expire": lambda producers: producers.expire(1_000, 1_000) == 0,
    }
    for name, look in looks.items():
        producers = new_producers(1)
        producers.apply(1, 0, 0, 0, 0, 0)
        noted = NotedBatches()
        for sequence in (1, 2, 3):
            noted.note([producers], columns_of((1, 0, sequence, 0, sequence, 10)))
        assert look(producers), name


def test_what_was_noted_moves_the_bound_of_expiry() -> None:
    producers = new_producers(1)
    producers.apply(1, 0, 0, 0, 0, 100)
    noted = NotedBatches()
    for sequence in (1, 2):
        noted.note([producers], columns_of((1, 0, sequence, 0, sequence, 20)))

    assert producers.expire(80, 60) == 1
    assert not producers.describe()


def test_a_producer_that_was_removed_begins_with_the_first_batch_that_is_noted() -> None:
    producers = new_producers(1)
    producers.apply(1, 0, 0, 0, 0, 0)
    noted = NotedBatches()
    noted.note([producers], columns_of((1, 0, 1, 0, 1, 0)))
    assert producers.expire(100, 50) == 1

    for sequence in (2, 3, 4):
        noted.note([producers], columns_of((1, 0, sequence, 0, sequence, 100)))
    entry = producers.entry(1)
    assert entry is not None
    assert entry.floor == 2


@pytest.mark.parametrize(
    ("base_sequences", "counts", "expected"),
    [
        ([1], [1], 2**29 - 1),
        ([0], [1], 0),
        ([2**29 - 6], [2], 3),
        ([2**29 - 6], [4], 1),
        ([2**29 - 6], [7], 0),
        ([2**29 + 1], [1], 2**29 - 1),
        ([2**31], [1], 0),
        ([1, 2**29 - 10], [1, 5], 2),
    ],
)
def test_batches_are_noted_until_one_moves_the_floor(
    base_sequences: list[int], counts: list[int], expected: int
) -> None:
    assert requests_without_floor(base_sequences, counts) == expected


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
