"""Decide whether a batch of an idempotent producer is the next one, a duplicate, or out of order.

Two rule sets, one implementation. Kafka's rule keeps the five newest batches of a producer: a
duplicate of one of them is a success with its first offset; any other batch that isn't next is out
of order (`ProducerAppendInfo`, `ProducerStateEntry.findDuplicateBatch`). KIP-758's rule keeps the
newest batch and a window of sequence numbers before it: a batch wholly inside the window is a
duplicate with unknown offset.

KIP-758 assumes that every sequence number up to the newest one is in the log. But a partition
without state accepts any first sequence number (KIP-360), and nothing before it was stored. So
KIP-758's rule also keeps that number, the floor: a batch that begins before it is out of order.
"""

from dataclasses import dataclass
from typing import NamedTuple

from protocol.errors import ErrorCode

SEQUENCE_MAX = 2**31 - 1
"""Sequence numbers go from 0 to this number, then start again at 0."""
WINDOW_MAX = 2**30
"""With a larger window, sequences before and after the newest one would look the same."""
NO_SEQUENCE = -1
NO_OFFSET = -1
NO_TIMESTAMP = -1
NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The number of batches kept per producer: 5 is Kafka's rule, 1 is KIP-758's.

    `window` counts sequence numbers, the newest included; only KIP-758's rule uses it
    (`max.in.flight.sequence.number.per.connection`, which counts per partition and producer id).
    """

    batches: int
    window: int

    def __post_init__(self) -> None:
        if self.batches not in {1, 5}:
            raise ValueError(f"producer.state.batches is 1 or 5, not {self.batches}")
        if not 1 <= self.window <= WINDOW_MAX:
            raise ValueError(f"the window is 1 to {WINDOW_MAX} sequence numbers, not {self.window}")


class Batch(NamedTuple):
    """A batch in the log; `timestamp` is its maximum timestamp in ms."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    timestamp: int


class Entry(NamedTuple):
    """The state of a producer on one partition; `batches` newest first.

    `batches` is empty if the current epoch was only seen in a transaction marker.
    `floor` is the first sequence number stored in the current epoch, as long as fewer than
    `WINDOW_MAX` lie between it and the newest one, see `floor_after`. Only KIP-758's rule reads it.
    """

    producer_epoch: int
    batches: tuple[Batch, ...]
    floor: int
    coordinator_epoch: int = NO_EPOCH
    last_timestamp: int = NO_TIMESTAMP
    """Timestamp of the newest batch or marker, in ms; the expiry of the entry counts from it."""
    current_txn_start_offset: int = NO_OFFSET


class ProducerDescription(NamedTuple):
    """One producer as in DescribeProducers; -1 for absent values."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int


def describe(producer_id: int, entry: Entry) -> ProducerDescription:
    """Return what DescribeProducers says about a producer."""
    return ProducerDescription(
        producer_id,
        entry.producer_epoch,
        entry.batches[0].last_sequence if entry.batches else NO_SEQUENCE,
        entry.last_timestamp,
        entry.coordinator_epoch,
        entry.current_txn_start_offset,
    )


class Append(NamedTuple):
    """The batch is the next one: append it, then `apply` it."""


class Duplicate(NamedTuple):
    """The batch is already in the log; do not append it.

    `base_offset` and `timestamp` (the response's log_append_time_ms, whatever the topic's timestamp
    type) are those of the first append, -1 where they are no longer known.
    """

    error_code: ErrorCode
    base_offset: int
    timestamp: int


class Refused(NamedTuple):
    """The batch is refused; nothing changes."""

    error_code: ErrorCode


Decision = Append | Duplicate | Refused

APPEND = Append()
OUT_OF_ORDER = Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
STALE_EPOCH = Refused(ErrorCode.INVALID_PRODUCER_EPOCH)
OUTSIDE_TRANSACTION = Refused(ErrorCode.INVALID_TXN_STATE)
OLD_DUPLICATE = Duplicate(ErrorCode.DUPLICATE_SEQUENCE_NUMBER, NO_OFFSET, NO_TIMESTAMP)


def sequence_after(sequence: int, count: int) -> int:
    """Return the sequence number `count` after `sequence` (negative: before), wrapping around."""
    return (sequence + count) & SEQUENCE_MAX


def floor_after(floor: int, base_sequence: int, last_offset_delta: int) -> int:
    """Return the floor after a batch that continues what was stored since `floor`.

    The floor stays at most `WINDOW_MAX - 1` before the newest sequence number, which no window
    exceeds. Otherwise it would seem to be after it once 2^31 sequence numbers were used.
    """
    distance = sequence_after(base_sequence, -floor) + last_offset_delta
    return sequence_after(floor, max(0, distance - WINDOW_MAX + 1))


def decide(
    rules: RuleSet,
    entry: Entry | None,
    producer_epoch: int,
    base_sequence: int,
    last_offset_delta: int,
    *,
    is_transactional: bool = False,
) -> Decision:
    """Decide about a batch of `last_offset_delta + 1` records from its producer's entry.

    A stale epoch is INVALID_PRODUCER_EPOCH, never PRODUCER_FENCED. An unknown producer may start
    with any sequence and epoch; UNKNOWN_PRODUCER_ID is never returned.
    """
    if entry is None:
        return APPEND
    if producer_epoch < entry.producer_epoch:
        return STALE_EPOCH
    batches = entry.batches if producer_epoch == entry.producer_epoch else ()
    last_sequence = batches[0].last_sequence if batches else NO_SEQUENCE
    if base_sequence != sequence_after(last_sequence, 1):
        return _repeated(rules, entry.floor, batches, base_sequence, last_offset_delta)
    if entry.current_txn_start_offset != NO_OFFSET and not is_transactional:
        return OUTSIDE_TRANSACTION
    return APPEND


def _repeated(
    rules: RuleSet,
    floor: int,
    batches: tuple[Batch, ...],
    base_sequence: int,
    last_offset_delta: int,
) -> Duplicate | Refused:
    """Decide whether a batch that isn't the next one is a duplicate or out of order."""
    last_sequence = sequence_after(base_sequence, last_offset_delta)
    is_kip_758 = rules.batches == 1
    for batch in batches:
        if batch.first_sequence == base_sequence and batch.last_sequence == last_sequence:
            error_code = ErrorCode.DUPLICATE_SEQUENCE_NUMBER if is_kip_758 else ErrorCode.NONE
            return Duplicate(error_code, batch.base_offset, batch.timestamp)
    if is_kip_758 and batches:
        newest = batches[0].last_sequence
        first_distance = sequence_after(newest, -base_sequence)
        last_distance = sequence_after(newest, -last_sequence)
        floor_distance = sequence_after(newest, -floor)
        # Both ends must be between the floor and the newest sequence number: if a batch crosses
        # one of these, some of its records were never stored.
        if last_distance <= first_distance < rules.window and first_distance <= floor_distance:
            return OLD_DUPLICATE
    return OUT_OF_ORDER
