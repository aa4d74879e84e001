"""Which records of a read are delivered, and in which batches.

Sources: Kafka's `SharePartition.acquireNewBatchRecords`, `createBatches`,
`acquireSubsetBatchRecords` and `filterAbortedTransactionalAcquiredRecords`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from broker.share_groups.in_flight import InFlightBatch, RecordState
from broker.share_groups.offset_range import OffsetRange
from broker.share_groups.share_rules import ShareRules

NO_PRODUCER_ID = -1


class FetchedBatch(NamedTuple):
    """A record batch as it was read from the log; `size_bytes` is its size there."""

    base_offset: int
    last_offset: int
    size_bytes: int = 0
    producer_id: int = NO_PRODUCER_ID
    is_transactional: bool = False
    is_abort_marker: bool = False


class AbortedRange(NamedTuple):
    """An aborted transaction: its producer id and its first offset."""

    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True)
class AcquiredRecords(OffsetRange):
    """Consecutive offsets that a member has acquired, and how often they were delivered."""

    delivery_count: int


def record_count(acquired: Iterable[AcquiredRecords]) -> int:
    """Return the number of offsets of several batches."""
    return sum(map(len, acquired))


def last_offset_to_acquire(batches: Iterable[FetchedBatch], offset: int) -> int:
    """Return the last offset of the batch with an offset, or the offset if no batch has it.

    The maximum of a fetch is a soft limit: a batch of the log is acquired to its end.
    """
    found = None
    for batch in batches:
        if offset < batch.base_offset:
            break
        found = batch
    if found is not None and offset <= found.last_offset:
        return found.last_offset
    return offset


def split_by_size(
    batches: Iterable[FetchedBatch], first_offset: int, last_offset: int, batch_size: int
) -> list[AcquiredRecords]:
    """Return a range as batches of at least `batch_size` that begin where batches of the log do."""
    found: list[AcquiredRecords] = []
    first = first_offset
    if last_offset - first_offset + 1 > batch_size:
        for batch in batches:
            if batch.base_offset > last_offset:
                break
            if batch.base_offset - first >= batch_size:
                found.append(AcquiredRecords(first, batch.base_offset - 1, 1))
                first = batch.base_offset
    found.append(AcquiredRecords(first, last_offset, 1))
    return found


def aborted_batches(
    batches: Iterable[FetchedBatch], aborted: Iterable[AbortedRange]
) -> list[FetchedBatch]:
    """Return the batches of a read that belong to aborted transactions, without their markers."""
    left = sorted(aborted, key=lambda transaction: transaction.first_offset, reverse=True)
    aborted_ids: set[int] = set()
    found = []
    for batch in batches:
        if batch.producer_id == NO_PRODUCER_ID:
            continue
        while left and left[-1].first_offset <= batch.last_offset:
            aborted_ids.add(left.pop().producer_id)
        if batch.is_abort_marker:
            aborted_ids.discard(batch.producer_id)
        elif batch.is_transactional and batch.producer_id in aborted_ids:
            found.append(batch)
    return found


def without_batches(
    acquired: Iterable[AcquiredRecords], excluded: Sequence[FetchedBatch]
) -> list[AcquiredRecords]:
    """Return acquired batches without the offsets of others; both in the order of offsets."""
    found = []
    for batch in acquired:
        first = batch.first_offset
        for other in excluded:
            if other.last_offset < first:
                continue
            if other.base_offset > batch.last_offset:
                break
            if first < other.base_offset:
                found.append(replace(batch, first_offset=first, last_offset=other.base_offset - 1))
            first = other.last_offset + 1
        if first <= batch.last_offset:
            found.append(replace(batch, first_offset=first))
    return found


def overlapping_bytes(
    batches: Sequence[FetchedBatch], acquired: Sequence[AcquiredRecords]
) -> tuple[int, int]:
    """Return the begin and the end of the bytes of a read that have the acquired records."""
    first, last = acquired[0].first_offset, acquired[-1].last_offset
    begin = end = position = 0
    for batch in batches:
        if batch.base_offset <= first:
            begin = position
        position += batch.size_bytes
        if batch.base_offset <= last:
            end = position
    return begin, end


@dataclass(frozen=True, slots=True)
class Acquisition:
    """What a member acquires of a read, and the rules for it.

    The read has the offsets from `first_offset` to `last_offset`. With `is_record_limit` (KIP-1206)
    the maximum of records is never exceeded; else a batch of the log is acquired to its end.
    """

    member_id: str
    batches: Sequence[FetchedBatch]
    first_offset: int
    last_offset: int
    batch_size: int
    lock_expires_ms: int
    is_record_limit: bool
    rules: ShareRules

    def has_bad_records(self, batch: InFlightBatch) -> bool:
        """Return whether available records of a batch in flight were delivered often."""
        rules = self.rules
        if not rules.isolates_bad_records:
            return False
        return any(
            state.state is RecordState.AVAILABLE
            and rules.is_bad(state.delivery_count)
            and (batch.batch_state is not None or self.first_offset <= first <= self.last_offset)
            for first, _last, state in batch.states()
        )

    def acquire_available(
        self, batch: InFlightBatch, records_max: int, *, is_isolated: bool
    ) -> list[AcquiredRecords]:
        """Acquire the available records of a batch in flight that the read has."""
        batch_state = batch.batch_state
        if batch_state is not None and batch_state.state is not RecordState.AVAILABLE:
            return []
        is_limited = self.is_record_limit and len(batch) > records_max
        if is_isolated or is_limited or not batch.is_within(self.first_offset, self.last_offset):
            batch.split()
        if batch.batch_state is None:
            return self._acquire_offsets(batch, records_max)
        batch.batch_state.acquire(self.member_id, self.lock_expires_ms)
        return [
            AcquiredRecords(batch.first_offset, batch.last_offset, batch.batch_state.delivery_count)
        ]

    def _acquire_offsets(self, batch: InFlightBatch, records_max: int) -> list[AcquiredRecords]:
        """Acquire offset by offset, until the limits or the rules for bad records end it."""
        rules = self.rules
        bad_count_max = None
        acquired: list[AcquiredRecords] = []
        for offset, state in batch.offset_states.items():
            if offset < self.first_offset or state.state is not RecordState.AVAILABLE:
                continue
            if offset > self.last_offset:
                break
            delivery_count = state.delivery_count
            if acquired and rules.is_delivered_alone(delivery_count + 1):
                break
            if bad_count_max is None and rules.is_bad(delivery_count):
                bad_count_max = max(
                    1, len(batch) >> (delivery_count - rules.isolation_count_min + 1)
                )
            state.acquire(self.member_id, self.lock_expires_ms)
            acquired.append(AcquiredRecords(offset, offset, state.delivery_count))
            if rules.is_delivered_alone(state.delivery_count) or len(acquired) == bad_count_max:
                break
            if self.is_record_limit and len(acquired) == records_max:
                break
        return joined(acquired) if rules.isolates_bad_records else acquired


def joined(acquired: Iterable[AcquiredRecords]) -> list[AcquiredRecords]:
    """Return consecutive offsets with the same delivery count as one."""
    found: list[AcquiredRecords] = []
    for part in acquired:
        last = found[-1] if found else None
        if (
            last is not None
            and last.last_offset + 1 == part.first_offset
            and last.delivery_count == part.delivery_count
        ):
            found[-1] = replace(last, last_offset=part.last_offset)
        else:
            found.append(part)
    return found
