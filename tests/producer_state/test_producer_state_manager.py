"""Histories of one partition: what is remembered of its producers, shown, forgotten; its cost."""

import sys

import pytest

from producer_state.producer_state_manager import (
    Counts,
    ProducerDescription,
    ProducerStateManager,
    count,
)
from producer_state.rules import (
    APPEND,
    NO_EPOCH,
    NO_OFFSET,
    NO_SEQUENCE,
    OLD_DUPLICATE,
    OUT_OF_ORDER,
    OUTSIDE_TRANSACTION,
    SEQUENCE_MAX,
    STALE_EPOCH,
    Batch,
    Duplicate,
)
from protocol.errors import ErrorCode
from tests.producer_state.counting_partition import NOW_MS, PRODUCER, WINDOW, Partition, both_rules

MAX = SEQUENCE_MAX


@both_rules
def test_sequences_one_after_the_other_are_appended(batches: int) -> None:
    partition = Partition(batches)

    assert [partition.send(sequence) for sequence in range(20)] == [APPEND] * 20
    assert partition.send(21) == OUT_OF_ORDER
    assert partition.newest_batch() == Batch(19, 19, 19, NOW_MS)


@both_rules
def test_a_refused_batch_leaves_no_trace(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0, epoch=1)
    before = partition.producers.entry(PRODUCER)

    assert partition.send(5, epoch=1) == OUT_OF_ORDER
    assert partition.send(0, epoch=0) == STALE_EPOCH
    assert partition.send(3, epoch=2) == OUT_OF_ORDER
    assert partition.producers.entry(PRODUCER) == before
    assert partition.producers.check(2, 0, 0, 0) == APPEND
    assert len(partition.producers) == 1


@both_rules
def test_a_bumped_epoch_fences_the_one_before(batches: int) -> None:
    partition = Partition(batches)
    assert [partition.send(0), partition.send(1)] == [APPEND] * 2
    assert partition.send(0, epoch=1) == APPEND
    assert [partition.send(sequence) for sequence in range(4)] == [STALE_EPOCH] * 4


@both_rules
def test_a_bumped_epoch_starts_at_zero_whatever_it_skips(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0)
    # The number that is next in the epoch before is nothing special in the new one.
    assert partition.send(1, epoch=1) == OUT_OF_ORDER
    assert partition.send(2, epoch=2) == OUT_OF_ORDER
    assert partition.send(2, epoch=1) == OUT_OF_ORDER
    assert partition.send(0, epoch=1) == APPEND


@both_rules
def test_a_bumped_epoch_forgets_the_batches_before_it(batches: int) -> None:
    partition = Partition(batches)
    for sequence in range(5):
        partition.send(sequence)
    partition.send(0, 2, epoch=1)

    entry = partition.producers.entry(PRODUCER)
    assert entry is not None
    assert (entry.producer_epoch, entry.batches) == (1, (Batch(0, 1, 5, NOW_MS),))
    assert partition.send(4, epoch=1) == OUT_OF_ORDER


@both_rules
def test_an_unknown_producer_starts_in_the_middle_and_goes_on_from_there(batches: int) -> None:
    partition = Partition(batches)
    assert partition.send(3, epoch=1) == APPEND
    assert partition.send(5, epoch=1) == OUT_OF_ORDER
    assert partition.send(4, epoch=1) == APPEND


@both_rules
def test_after_the_last_number_comes_zero(batches: int) -> None:
    partition = Partition(batches)
    partition.replicate(MAX, epoch=15)

    assert partition.send(1, epoch=15) == OUT_OF_ORDER
    assert partition.send(0, epoch=15) == APPEND
    assert partition.newest_batch() == Batch(0, 0, 1, NOW_MS)


@both_rules
def test_a_batch_that_starts_over_keeps_both_of_its_ends(batches: int) -> None:
    partition = Partition(batches)
    partition.end_offset = 2000
    partition.replicate(MAX - 10, 21)

    assert partition.newest_batch() == Batch(MAX - 10, 9, 2000, NOW_MS)
    assert partition.end_offset - 1 == 2020
    assert partition.send(10) == APPEND


def test_kafka_s_rule_finds_the_five_newest_batches_and_no_part_of_one() -> None:
    partition = Partition(5)
    for sequence in range(6):
        partition.send(sequence, timestamp_ms=NOW_MS + sequence)
    partition.send(6, 3, timestamp_ms=NOW_MS + 6)

    assert partition.send(6, 3) == Duplicate(ErrorCode.NONE, 6, NOW_MS + 6)
    assert partition.send(7, 2) == OUT_OF_ORDER
    assert partition.send(2) == Duplicate(ErrorCode.NONE, 2, NOW_MS + 2)
    assert partition.send(1) == OUT_OF_ORDER
    assert partition.end_offset == 9


def test_kip_758_knows_the_offset_of_the_newest_batch_alone() -> None:
    partition = Partition(1)
    for sequence in range(6):
        partition.send(sequence)
    partition.send(6, 3, timestamp_ms=NOW_MS + 6)

    code = ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    assert partition.send(6, 3) == Duplicate(code, 6, NOW_MS + 6)
    for sequence in (*range(6), 7, 8):
        assert partition.send(sequence) == OLD_DUPLICATE
    assert partition.send(0, 9) == OLD_DUPLICATE
    assert partition.send(8, 2) == OUT_OF_ORDER


def test_the_window_is_that_of_the_constructor() -> None:
    partition = Partition(1, window=5)
    for sequence in range(10):
        partition.send(sequence)

    assert partition.send(5) == OLD_DUPLICATE
    assert partition.send(4) == OUT_OF_ORDER


@pytest.mark.parametrize(("batches", "window"), [(2, WINDOW), (0, WINDOW), (1, 0), (1, 2**30 + 1)])
def test_rules_that_do_not_exist_are_refused(batches: int, window: int) -> None:
    with pytest.raises(ValueError, match="not"):
        ProducerStateManager(batches=batches, window=window)


@both_rules
def test_the_next_batch_is_answered_without_a_new_object(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0)

    assert partition.producers.check(PRODUCER, 0, 1, 0) is APPEND
    assert partition.producers.check(PRODUCER + 1, 0, 1, 0) is APPEND


@both_rules
def test_producers_do_not_see_one_another(batches: int) -> None:
    partition = Partition(batches)
    for producer_id in range(300):
        partition.send(0, producer_id + 1, producer_id=producer_id)

    for producer_id in range(300):
        assert partition.producers.check(producer_id, 0, producer_id + 1, 0) == APPEND
        assert partition.producers.check(producer_id, 0, producer_id + 2, 0) == OUT_OF_ORDER


# Markers -------------------------------------------------------------------------------------


@both_rules
def test_a_marker_alone_fences_older_epochs(batches: int) -> None:
    partition = Partition(batches)
    assert partition.mark(2) == ErrorCode.NONE
    assert len(partition.producers) == 1

    assert partition.send(0, epoch=0) == STALE_EPOCH
    assert partition.send(17, epoch=2) == OUT_OF_ORDER
    assert partition.send(0, epoch=2) == APPEND


@both_rules
def test_a_marker_that_bumps_the_epoch_clears_the_batches(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0)
    assert partition.mark(1) == ErrorCode.NONE
    assert partition.send(1, epoch=1) == OUT_OF_ORDER
    assert partition.send(0, epoch=1) == APPEND


@both_rules
def test_a_marker_of_the_same_epoch_keeps_the_batches(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0, is_transactional=True)
    assert partition.mark(0) == ErrorCode.NONE

    repeated = partition.send(0, is_transactional=True)
    assert isinstance(repeated, Duplicate)
    assert repeated.base_offset == 0
    assert partition.send(1, is_transactional=True) == APPEND


@both_rules
def test_an_open_transaction_refuses_other_batches_of_its_producer(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0, is_transactional=True)
    assert partition.send(1) == OUTSIDE_TRANSACTION
    assert partition.mark(0) == ErrorCode.NONE
    assert partition.send(1) == APPEND


@both_rules
def test_a_marker_of_an_older_epoch_is_refused(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0, epoch=5, is_transactional=True)
    assert partition.mark(3) == ErrorCode.INVALID_PRODUCER_EPOCH


@both_rules
def test_a_marker_of_an_older_coordinator_is_refused(batches: int) -> None:
    partition = Partition(batches)
    assert partition.mark(0, coordinator_epoch=1) == ErrorCode.NONE
    assert partition.mark(0, coordinator_epoch=2) == ErrorCode.NONE
    assert partition.mark(0, coordinator_epoch=1) == ErrorCode.TRANSACTION_COORDINATOR_FENCED


# What is shown -------------------------------------------------------------------------------


@both_rules
def test_all_producers_are_described_by_id(batches: int) -> None:
    partition = Partition(batches)
    partition.send(7, 3, producer_id=9, epoch=2)
    partition.send(0, producer_id=4, timestamp_ms=NOW_MS + 1, is_transactional=True)
    partition.mark(6, coordinator_epoch=3, timestamp_ms=NOW_MS + 2)

    assert partition.producers.describe() == [
        ProducerDescription(1, 6, NO_SEQUENCE, NOW_MS + 2, 3, NO_OFFSET),
        ProducerDescription(4, 0, 0, NOW_MS + 1, NO_EPOCH, 3),
        ProducerDescription(9, 2, 9, NOW_MS, NO_EPOCH, NO_OFFSET),
    ]
    assert len(partition.producers) == 3


def test_nothing_is_described_of_a_partition_without_producers() -> None:
    producers = ProducerStateManager(batches=1, window=WINDOW)

    assert producers.describe() == []
    assert (len(producers), producers.expire(NOW_MS, 1)) == (0, 0)


def everything_behind(root: object) -> int:
    """The bytes of all objects that only the state of one partition can have."""
    seen: set[int] = set()
    waiting = [root]
    held = 0
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        held += sys.getsizeof(item)
        if isinstance(item, dict):
            waiting += [part for pair in item.items() for part in pair]
        elif isinstance(item, list | tuple):
            waiting += list(item)
        elif type(item).__module__.startswith("producer_state.") and type(item).__name__ in {
            "ProducerStateManager",
            "RowTable",
        }:
            slots: tuple[str, ...] = type(item).__slots__  # type: ignore[attr-defined]
            waiting += [getattr(item, slot) for slot in slots if slot not in {"_layout", "bucket"}]
    return held


@both_rules
def test_the_bytes_held_are_those_of_the_objects_that_are_there(batches: int) -> None:
    partition = Partition(batches)
    for producer_id in range(2000):
        partition.send(0, producer_id=producer_id, is_transactional=producer_id % 100 == 0)

    # A number that several producers share counts for each of them.
    assert partition.producers.bytes_held() == pytest.approx(
        everything_behind(partition.producers), rel=0.02
    )


def test_one_producer_costs_a_few_hundred_bytes_at_most() -> None:
    partition = Partition(1)
    empty_bytes = partition.producers.bytes_held()
    partition.send(0)

    assert empty_bytes < 300
    assert partition.producers.bytes_held() - empty_bytes < 250


def test_one_batch_costs_less_than_half_of_five() -> None:
    held = {}
    for batches in (1, 5):
        partition = Partition(batches)
        for producer_id in range(10_000):
            partition.send(0, producer_id=producer_id)
        held[batches] = partition.producers.bytes_held() / 10_000

    assert held[1] < 50
    assert held[1] < held[5] / 2


def test_counts_are_added_up_over_partitions() -> None:
    first, second = Partition(1), Partition(1)
    for producer_id in range(3):
        first.send(0, producer_id=producer_id)
    second.send(0)

    counts = count([first.producers, second.producers])

    assert counts == Counts(4, first.producers.bytes_held() + second.producers.bytes_held())
    assert count([]) == Counts(0, 0)
