"""The producer state of one partition: decisions, descriptions, expiry and memory."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producer_state.producer_state_manager import (
    ProducerStateManager,
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
    WINDOW_MAX,
    Batch,
    Decision,
    Duplicate,
    ProducerDescription,
)
from protocol.errors import ErrorCode
from tests.producer_state.counting_partition import NOW_MS, PRODUCER, WINDOW, Partition, both_rules

MAX = SEQUENCE_MAX


@both_rules
def test_consecutive_sequences_are_appended(batches: int) -> None:
    partition = Partition(batches)

    assert [partition.send(sequence) for sequence in range(20)] == [APPEND] * 20
    assert partition.send(21) == OUT_OF_ORDER
    assert partition.newest_batch() == Batch(19, 19, 19, NOW_MS)


@both_rules
def test_a_refused_batch_does_not_change_the_state(batches: int) -> None:
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
def test_a_new_epoch_fences_the_previous_one(batches: int) -> None:
    partition = Partition(batches)
    assert [partition.send(0), partition.send(1)] == [APPEND] * 2
    assert partition.send(0, epoch=1) == APPEND
    assert [partition.send(sequence) for sequence in range(4)] == [STALE_EPOCH] * 4


@both_rules
def test_a_new_epoch_starts_at_sequence_0(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0)
    # The next sequence of the previous epoch is out of order in the new one.
    assert partition.send(1, epoch=1) == OUT_OF_ORDER
    assert partition.send(2, epoch=2) == OUT_OF_ORDER
    assert partition.send(2, epoch=1) == OUT_OF_ORDER
    assert partition.send(0, epoch=1) == APPEND


@both_rules
def test_a_new_epoch_drops_the_batches_of_the_previous_one(batches: int) -> None:
    partition = Partition(batches)
    for sequence in range(5):
        partition.send(sequence)
    partition.send(0, 2, epoch=1)

    entry = partition.producers.entry(PRODUCER)
    assert entry is not None
    assert (entry.producer_epoch, entry.batches) == (1, (Batch(0, 1, 5, NOW_MS),))
    assert partition.send(4, epoch=1) == OUT_OF_ORDER


@both_rules
def test_an_unknown_producer_may_start_with_any_sequence(batches: int) -> None:
    partition = Partition(batches)
    assert partition.send(3, epoch=1) == APPEND
    assert partition.send(5, epoch=1) == OUT_OF_ORDER
    assert partition.send(4, epoch=1) == APPEND


@both_rules
def test_sequence_numbers_wrap_to_0(batches: int) -> None:
    partition = Partition(batches)
    partition.replicate(MAX, epoch=15)

    assert partition.send(1, epoch=15) == OUT_OF_ORDER
    assert partition.send(0, epoch=15) == APPEND
    assert partition.newest_batch() == Batch(0, 0, 1, NOW_MS)


@both_rules
def test_a_batch_whose_sequences_wrap_keeps_its_first_and_last_sequence(batches: int) -> None:
    partition = Partition(batches)
    partition.end_offset = 2000
    partition.replicate(MAX - 10, 21)

    assert partition.newest_batch() == Batch(MAX - 10, 9, 2000, NOW_MS)
    assert partition.end_offset - 1 == 2020
    assert partition.send(10) == APPEND


def test_kafkas_rule_finds_only_complete_batches_of_the_five_newest() -> None:
    partition = Partition(5)
    for sequence in range(6):
        partition.send(sequence, timestamp_ms=NOW_MS + sequence)
    partition.send(6, 3, timestamp_ms=NOW_MS + 6)

    assert partition.send(6, 3) == Duplicate(ErrorCode.NONE, 6, NOW_MS + 6)
    assert partition.send(7, 2) == OUT_OF_ORDER
    assert partition.send(2) == Duplicate(ErrorCode.NONE, 2, NOW_MS + 2)
    assert partition.send(1) == OUT_OF_ORDER
    assert partition.end_offset == 9


def test_kip_758_knows_only_the_offset_of_the_newest_batch() -> None:
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


def test_a_batch_before_the_first_one_stored_is_out_of_order() -> None:
    partition = Partition(1)
    assert [partition.send(2, 3), partition.send(5)] == [APPEND] * 2

    assert [partition.send(0, 2), partition.send(1), partition.send(1, 2)] == [OUT_OF_ORDER] * 3
    assert partition.send(2, 3) == OLD_DUPLICATE


def test_no_number_before_the_first_of_an_epoch_is_a_duplicate() -> None:
    partition = Partition(1)
    partition.send(5, 10)
    assert [partition.send(0, 2, epoch=1), partition.send(2, epoch=1)] == [APPEND] * 2

    assert partition.send(MAX, epoch=1) == OUT_OF_ORDER
    assert partition.send(MAX, 2, epoch=1) == OUT_OF_ORDER
    assert partition.send(5, 10, epoch=1) == OUT_OF_ORDER
    assert partition.send(0, 2, epoch=1) == OLD_DUPLICATE


def test_no_number_before_the_first_of_an_epoch_that_a_marker_began_is_a_duplicate() -> None:
    partition = Partition(1)
    partition.send(5, 10)
    partition.mark(1)
    assert [partition.send(0, 2, epoch=1), partition.send(2, epoch=1)] == [APPEND] * 2

    assert partition.send(MAX, epoch=1) == OUT_OF_ORDER
    assert partition.send(0, 2, epoch=1) == OLD_DUPLICATE


def test_a_marker_of_the_same_epoch_keeps_the_floor() -> None:
    partition = Partition(1)
    partition.send(5, is_transactional=True)
    partition.mark(0)
    partition.send(6, is_transactional=True)

    assert partition.send(4, is_transactional=True) == OUT_OF_ORDER
    assert partition.send(5, is_transactional=True) == OLD_DUPLICATE


def test_an_expired_producer_gets_a_new_floor() -> None:
    partition = Partition(1)
    partition.send(0, 5)
    assert sum(partition.producers.expire_in_steps(NOW_MS + 1000, 1000)) == 1
    assert [partition.send(6), partition.send(7)] == [APPEND] * 2

    assert [partition.send(5), partition.send(0, 5)] == [OUT_OF_ORDER] * 2
    assert partition.send(6) == OLD_DUPLICATE


def test_wrapped_sequences_are_not_before_the_floor() -> None:
    partition = Partition(1)
    partition.send(7)
    partition.replicate(8, MAX - 8)
    partition.send(MAX, 10)

    assert [partition.send(sequence) for sequence in (MAX - 1, MAX, 0, 7)] == [OLD_DUPLICATE] * 4
    assert partition.send(9) == APPEND


@given(
    start=st.integers(0, MAX),
    window=st.sampled_from([1, 1000, WINDOW, WINDOW_MAX]),
    counts=st.lists(
        st.integers(1, 5) | st.integers(2**26, 2**29) | st.integers(2**29, 2**31),
        min_size=1,
        max_size=20,
    ),
)
def test_exactly_the_stored_batches_in_the_window_are_duplicates(
    start: int, window: int, counts: list[int]
) -> None:
    """Positions go on where sequence numbers start over, so what is stored is start to newest."""
    partition = Partition(1, window)
    newest = start - 1
    for batch_count in counts:
        partition.replicate((newest + 1) % 2**31, batch_count)
        newest += batch_count
        oldest = max(start, newest - window + 1)
        for position in (oldest - 1, oldest, newest - WINDOW_MAX, start - 1, newest - 2):
            for delta in (0, 1):
                is_newest = (position, delta) == (newest - batch_count + 1, batch_count - 1)
                if is_newest or newest - position >= MAX:
                    continue
                is_stored = oldest <= position and position + delta <= newest
                decision = partition.producers.check(PRODUCER, 0, position % 2**31, delta)
                assert decision == (OLD_DUPLICATE if is_stored else OUT_OF_ORDER)


@pytest.mark.parametrize(("batches", "window"), [(2, WINDOW), (0, WINDOW), (1, 0), (1, 2**30 + 1)])
def test_invalid_rule_sets_are_refused(batches: int, window: int) -> None:
    with pytest.raises(ValueError, match="not"):
        ProducerStateManager(batches=batches, window=window)


@both_rules
def test_the_decision_on_the_next_batch_creates_no_object(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0)

    assert partition.producers.check(PRODUCER, 0, 1, 0) is APPEND
    assert partition.producers.check(PRODUCER + 1, 0, 1, 0) is APPEND


@both_rules
def test_producers_are_independent(batches: int) -> None:
    partition = Partition(batches)
    for producer_id in range(300):
        partition.send(0, producer_id + 1, producer_id=producer_id)

    for producer_id in range(300):
        assert partition.producers.check(producer_id, 0, producer_id + 1, 0) == APPEND
        assert partition.producers.check(producer_id, 0, producer_id + 2, 0) == OUT_OF_ORDER


# Markers -------------------------------------------------------------------------------------


@both_rules
def test_a_marker_for_an_unknown_producer_fences_older_epochs(batches: int) -> None:
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


# Descriptions --------------------------------------------------------------------------------


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


def test_a_partition_without_producers_describes_none() -> None:
    producers = ProducerStateManager(batches=1, window=WINDOW)

    assert producers.describe() == []
    assert (len(producers), sum(producers.expire_in_steps(NOW_MS, 1))) == (0, 0)


def everything_behind(root: object) -> int:
    """Return the bytes of all objects that belong to one partition's state."""
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
            slots = [slot for kind in type(item).__mro__ for slot in getattr(kind, "__slots__", ())]
            waiting += [getattr(item, slot) for slot in slots if slot not in {"_layout", "bucket"}]
    return held


@both_rules
def test_bytes_held_is_the_size_of_all_objects(batches: int) -> None:
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


def numbered(partition: Partition, sequences: list[int], epoch: int = 0) -> list[Decision]:
    return [partition.send(sequence, epoch=epoch) for sequence in sequences]


def test_converting_to_1_batch_keeps_the_newest_and_sets_the_floor() -> None:
    partition = Partition(5)
    numbered(partition, list(range(8)))
    newest = partition.newest_batch()

    partition.producers.convert(batches=1, window=WINDOW)

    entry = partition.producers.entry(PRODUCER)
    assert entry is not None
    assert (entry.batches, entry.floor) == ((newest,), 3)
    repeated = Duplicate(ErrorCode.DUPLICATE_SEQUENCE_NUMBER, newest.base_offset, NOW_MS)
    assert numbered(partition, [7, 6, 3, 2, 9]) == [
        repeated,
        OLD_DUPLICATE,
        OLD_DUPLICATE,
        OUT_OF_ORDER,
        OUT_OF_ORDER,
    ]
    assert partition.send(8) == APPEND


def test_a_converted_floor_is_exact_while_fewer_than_five_batches_were_stored() -> None:
    partition = Partition(5)
    numbered(partition, [20, 21])
    partition.producers.convert(batches=1, window=WINDOW)
    assert numbered(partition, [20, 19]) == [OLD_DUPLICATE, OUT_OF_ORDER]


def test_converting_to_5_batches_keeps_the_newest_batch() -> None:
    partition = Partition(1)
    numbered(partition, list(range(8)))
    newest = partition.newest_batch()

    partition.producers.convert(batches=5, window=WINDOW)

    entry = partition.producers.entry(PRODUCER)
    assert entry is not None
    assert entry.batches == (newest,)
    assert numbered(partition, [7, 6]) == [Duplicate(ErrorCode.NONE, 7, NOW_MS), OUT_OF_ORDER]
    numbered(partition, list(range(8, 13)))
    assert numbered(partition, [8, 7]) == [Duplicate(ErrorCode.NONE, 8, NOW_MS), OUT_OF_ORDER]


@pytest.mark.parametrize(("before", "after"), [(1, 5), (5, 1)])
def test_a_conversion_keeps_epochs_transactions_and_expiry(before: int, after: int) -> None:
    partition = Partition(before)
    partition.send(0, epoch=2, timestamp_ms=NOW_MS, is_transactional=True)
    partition.mark(3, 1, timestamp_ms=NOW_MS + 5)
    partition.send(0, producer_id=2, timestamp_ms=NOW_MS + 3)
    described = partition.producers.describe()

    partition.producers.convert(batches=after, window=WINDOW)

    assert partition.producers.describe() == described
    assert partition.send(0, epoch=2) == STALE_EPOCH
    assert partition.send(1, epoch=3) == OUT_OF_ORDER
    assert partition.send(0, epoch=3, timestamp_ms=NOW_MS + 5) == APPEND
    assert sum(partition.producers.expire_in_steps(NOW_MS + 13, 10)) == 1
    assert sum(partition.producers.expire_in_steps(NOW_MS + 15, 10)) == 1


def test_a_round_of_expiry_continues_after_a_conversion() -> None:
    partition = Partition(5)
    for producer_id in range(300):
        partition.send(0, producer_id=producer_id)
    steps = partition.producers.expire_in_steps(NOW_MS + 10, 10)
    removed = next(steps)
    partition.producers.convert(batches=1, window=WINDOW)
    assert removed + sum(steps) == 300
    assert len(partition.producers) == 0


def test_a_new_window_applies_at_once() -> None:
    partition = Partition(1, window=10)
    numbered(partition, list(range(10)))
    assert partition.send(0) == OLD_DUPLICATE
    partition.producers.convert(batches=1, window=5)
    assert numbered(partition, [4, 5]) == [OUT_OF_ORDER, OLD_DUPLICATE]
