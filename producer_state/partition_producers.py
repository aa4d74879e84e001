"""What one partition knows of its idempotent producers: epoch and latest batches, per producer id.

Kafka's `ProducerStateManager`, `ProducerStateEntry` and `ProducerAppendInfo`, for client batches.
State is changed by `apply` alone, to be called after the append; a refused batch leaves no trace.
"""

from typing import NamedTuple

from protocol.errors import ErrorCode

SEQUENCE_COUNT = 2**31
"""Sequence numbers live in [0, 2^31) and wrap around to 0."""


class Batch(NamedTuple):
    """A batch already in the log; `timestamp` is its largest one, in ms."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    timestamp: int


class Entry(NamedTuple):
    """One producer: its epoch and its newest batches, oldest first."""

    producer_epoch: int
    batches: tuple[Batch, ...]

    @property
    def last_timestamp(self) -> int:
        """The timestamp by which the entry expires."""
        return self.batches[-1].timestamp


class Append(NamedTuple):
    """The batch is the next one: append it, then `apply` it."""


class Duplicate(NamedTuple):
    """The batch is in the log already; nothing is appended.

    `base_offset` and `timestamp` are those of the first append, -1 where they are not remembered.
    """

    error_code: ErrorCode
    base_offset: int
    timestamp: int


class Refused(NamedTuple):
    """The batch can't be appended; nothing changes."""

    error_code: ErrorCode


Decision = Append | Duplicate | Refused

_APPEND = Append()
_OUT_OF_ORDER = Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
_STALE_EPOCH = Refused(ErrorCode.INVALID_PRODUCER_EPOCH)
_OLD_DUPLICATE = Duplicate(ErrorCode.DUPLICATE_SEQUENCE_NUMBER, -1, -1)


def sequence_after(sequence: int, count: int) -> int:
    """The sequence number `count` behind `sequence`, with wraparound."""
    return (sequence + count) % SEQUENCE_COUNT


class PartitionProducers:
    """All idempotent producers of one partition, under one of two rule sets.

    `batches` is 5 for Kafka's rule (a duplicate of one of the five newest batches is success with
    the offset it got) or 1 for KIP-758's (the newest batch and a `window` of sequence numbers
    behind it; a duplicate is DUPLICATE_SEQUENCE_NUMBER).
    """

    __slots__ = ("_batch_count", "_entries", "_window")

    def __init__(self, *, batches: int, window: int) -> None:
        self._batch_count = batches
        self._window = window
        self._entries: dict[int, Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def check(
        self, producer_id: int, producer_epoch: int, base_sequence: int, last_offset_delta: int
    ) -> Decision:
        """What to do with a batch of `last_offset_delta + 1` records; changes nothing.

        A producer that isn't known may start with any sequence and epoch (KIP-360).
        """
        entry = self._entries.get(producer_id)
        if entry is None:
            return _APPEND
        if producer_epoch != entry.producer_epoch:
            if producer_epoch < entry.producer_epoch:
                return _STALE_EPOCH
            return _APPEND if base_sequence == 0 else _OUT_OF_ORDER
        latest = entry.batches[-1]
        if base_sequence == sequence_after(latest.last_sequence, 1):
            return _APPEND
        last_sequence = sequence_after(base_sequence, last_offset_delta)
        for batch in entry.batches:
            if batch.first_sequence == base_sequence and batch.last_sequence == last_sequence:
                return Duplicate(self._duplicate_code, batch.base_offset, batch.timestamp)
        if self._batch_count > 1:
            return _OUT_OF_ORDER
        first_distance = (latest.last_sequence - base_sequence) % SEQUENCE_COUNT
        last_distance = (latest.last_sequence - last_sequence) % SEQUENCE_COUNT
        # Wholly at or behind the newest sequence: a batch that straddles it has records that were
        # never stored, and must not be called a duplicate.
        if last_distance <= first_distance < self._window:
            return _OLD_DUPLICATE
        return _OUT_OF_ORDER

    @property
    def _duplicate_code(self) -> ErrorCode:
        if self._batch_count > 1:
            return ErrorCode.NONE
        return ErrorCode.DUPLICATE_SEQUENCE_NUMBER

    def apply(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        last_offset_delta: int,
        base_offset: int,
        timestamp: int,
    ) -> None:
        """Remember a batch that was just appended."""
        batch = Batch(
            base_sequence,
            sequence_after(base_sequence, last_offset_delta),
            base_offset,
            timestamp,
        )
        entry = self._entries.get(producer_id)
        if entry is None or entry.producer_epoch != producer_epoch:
            kept: tuple[Batch, ...] = (batch,)
        else:
            kept = (*entry.batches, batch)[-self._batch_count :]
        self._entries[producer_id] = Entry(producer_epoch, kept)

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers whose last batch is `expiration_ms` old or older; returns how many.

        The age counts from the timestamp of the records, not from their arrival, as in Kafka.
        """
        expired = [
            producer_id
            for producer_id, entry in self._entries.items()
            if now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self._entries[producer_id]
        return len(expired)
