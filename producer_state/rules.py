"""Whether a batch of an idempotent producer is the next one, a repetition, or neither.

Two rule sets, one implementation. Kafka's own remembers the five newest batches of a producer: one
of them sent again is a success with the offset it got the first time, anything else that isn't
next is out of order (`ProducerAppendInfo`, `ProducerStateEntry.findDuplicateBatch`). KIP-758's
remembers the newest batch and trusts a window of sequence numbers behind it: whatever lies wholly
inside was appended before, only its offset is no longer known.

KIP-758 guarantees that every sequence number up to the newest one is in the log. But a partition
without state accepts a producer at any sequence number (KIP-360), and nothing before that one was
stored. So KIP-758's rule also remembers it, as the floor: a batch that begins before it is out of
order.
"""

from dataclasses import dataclass
from typing import NamedTuple

from protocol.errors import ErrorCode

SEQUENCE_MAX = 2**31 - 1
"""Sequence numbers are 0 to here and start over at 0."""
WINDOW_MAX = 2**30
"""Above it, what is behind the newest sequence and what is ahead of it could not be told apart."""
NO_SEQUENCE = -1
NO_OFFSET = -1
NO_TIMESTAMP = -1
NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class RuleSet:
    """How many batches of a producer are remembered: 5 is Kafka's rule, 1 is KIP-758's.

    `window` counts sequence numbers, the newest included; only KIP-758's rule looks at it
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
    """A batch already in the log; `timestamp` is its largest one, in ms."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    timestamp: int


class Entry(NamedTuple):
    """What is known of a producer on one partition; `batches` newest first.

    `batches` is empty when the producer's current epoch was only seen in a transaction marker.
    `floor` is the first sequence number stored in the current epoch, as long as fewer than
    `WINDOW_MAX` lie between it and the newest one, see `floor_after`. Only KIP-758's rule reads it.
    """

    producer_epoch: int
    batches: tuple[Batch, ...]
    floor: int
    coordinator_epoch: int = NO_EPOCH
    last_timestamp: int = NO_TIMESTAMP
    """Of the newest batch or marker, in ms; the entry expires by it."""
    current_txn_start_offset: int = NO_OFFSET


class Append(NamedTuple):
    """The batch is the next one: append it, then remember it."""


class Duplicate(NamedTuple):
    """The batch is in the log already; nothing is appended.

    `base_offset` and `timestamp` (the response's log_append_time_ms, whatever the topic's timestamp
    type) are those of the first append, -1 where they are no longer known.
    """

    error_code: ErrorCode
    base_offset: int
    timestamp: int


class Refused(NamedTuple):
    """The batch can't be appended; nothing changes."""

    error_code: ErrorCode


Decision = Append | Duplicate | Refused

APPEND = Append()
OUT_OF_ORDER = Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
STALE_EPOCH = Refused(ErrorCode.INVALID_PRODUCER_EPOCH)
OUTSIDE_TRANSACTION = Refused(ErrorCode.INVALID_TXN_STATE)
OLD_DUPLICATE = Duplicate(ErrorCode.DUPLICATE_SEQUENCE_NUMBER, NO_OFFSET, NO_TIMESTAMP)


def sequence_after(sequence: int, count: int) -> int:
    """The sequence number `count` (which may be negative) behind `sequence`, with wraparound."""
    return (sequence + count) & SEQUENCE_MAX


def floor_after(floor: int, base_sequence: int, last_offset_delta: int) -> int:
    """Return the floor after a batch that continues what was stored since `floor`.

    The floor follows the newest sequence number at a distance of `WINDOW_MAX - 1`, which no window
    reaches beyond. It would otherwise seem to lie ahead once 2^31 sequence numbers were used.
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
    """What to do with a batch of `last_offset_delta + 1` records, by what is known of its sender.

    A stale epoch is INVALID_PRODUCER_EPOCH, never PRODUCER_FENCED. A producer that isn't known may
    start with any sequence and epoch; UNKNOWN_PRODUCER_ID is never the response.
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
    """A batch that isn't the next one: in the log already, or out of order?"""
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
        # Both ends must lie between the floor and the newest sequence number: of a batch that
        # straddles one of these, some records were never stored.
        if last_distance <= first_distance < rules.window and first_distance <= floor_distance:
            return OLD_DUPLICATE
    return OUT_OF_ORDER
