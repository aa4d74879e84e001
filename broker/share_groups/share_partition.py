"""A share partition: the records of one partition that are in flight for one share group.

Its leader delivers records from `start_offset` on. A delivered record is acquired by one member
until the member acknowledges it or its lock expires; then it may be delivered to another member,
as often as the delivery count limit allows.

Sources: Kafka's `SharePartition`, of 4.1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from broker.errors import Refusal
from broker.share_groups.acknowledgement import AcknowledgementBatch
from broker.share_groups.acquisition import (
    AbortedRange,
    AcquiredRecords,
    FetchedBatch,
    aborted_batches,
    acquire_available,
    last_offset_to_acquire,
    record_count,
    split_by_size,
    without_batches,
)
from broker.share_groups.in_flight import InFlightBatch, InFlightState, RecordState, StateBatch
from broker.share_groups.in_flight_records import InFlightRecords
from broker.share_groups.record_acknowledgement import acknowledge_records
from broker.share_groups.state_changes import StateChanges

WriteState = Callable[[int, Sequence[StateBatch], int], Refusal | None]
"""`write_state(start_offset, state_batches, now_ms)` stores changes, or returns why it cannot."""


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """Limits of a share partition: Kafka's `group.share.partition.max.record.locks` and so on."""

    record_locks_max: int
    delivery_count_max: int


class SharePartition:
    """The state machine of one share partition; times are arguments.

    `end_offset` is the last offset that was ever acquired. If nothing is in flight, it is the next
    one to acquire, as `start_offset` is.
    """

    __slots__ = (
        "_gap_end_offset",
        "_gap_start_offset",
        "_has_available",
        "_limits",
        "_write_state",
        "end_offset",
        "leader_epoch",
        "records",
        "start_offset",
        "state_epoch",
    )

    def __init__(
        self,
        start_offset: int,
        state_batches: Sequence[StateBatch],
        *,
        state_epoch: int,
        leader_epoch: int,
        limits: ShareLimits,
        write_state: WriteState,
    ) -> None:
        """`state_batches` are those that the share coordinator has stored, ascending."""
        self._limits = limits
        self._write_state = write_state
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.end_offset = start_offset
        self.records = InFlightRecords()
        # Whether records may be available among those in flight.
        self._has_available = False
        # Offsets that the former leader delivered, and whose result it did not store, are gaps
        # between the stored batches. Until all of them are acquired, the first one is here.
        self._gap_start_offset: int | None = None
        self._gap_end_offset = -1
        if state_batches:
            self._load(state_batches)

    def _load(self, state_batches: Sequence[StateBatch]) -> None:
        next_offset = self.start_offset
        for batch in state_batches:
            if self._gap_start_offset is None and batch.first_offset > next_offset:
                self._gap_start_offset = next_offset
            next_offset = batch.last_offset + 1
            state = InFlightState(RecordState(batch.delivery_state), batch.delivery_count)
            self.records.add(InFlightBatch(batch, state))
        self._has_available = True
        self.end_offset = self._gap_end_offset = self.records.last_offset
        self._advance_start()

    # Fetch -----------------------------------------------------------------------------------

    @property
    def in_flight_count(self) -> int:
        """The number of offsets from the start to the end, if any is in flight."""
        return self.end_offset - self.start_offset + 1 if self.records else 0

    def can_acquire(self) -> bool:
        """Return whether a fetch may acquire records: released ones, or new ones in the limit."""
        if self.next_fetch_offset() != self.end_offset + 1:
            return True
        return self.in_flight_count < self._limits.record_locks_max

    def next_fetch_offset(self) -> int:
        """Return the first offset to read: an available record or a gap, or the first new one."""
        if not self.records or self.start_offset > self.records.last_offset:
            self._has_available = False
            return self.end_offset
        if self._has_available:
            found = self._first_available()
            if found is not None:
                return found
            self._has_available = False
        return self.end_offset + 1

    def _first_available(self) -> int | None:
        gap_start_offset = self._gap_start_offset if self._is_gap_open else None
        for batch in self.records:
            if gap_start_offset is not None:
                if batch.first_offset > gap_start_offset:
                    return gap_start_offset
                gap_start_offset = max(gap_start_offset, batch.last_offset + 1)
            for first_offset, _last, state in batch.states():
                if state.state is RecordState.AVAILABLE:
                    return first_offset
        return None

    @property
    def _is_gap_open(self) -> bool:
        return self._gap_start_offset is not None and self._gap_end_offset == self.end_offset

    def acquire(
        self,
        member_id: str,
        batches: Sequence[FetchedBatch],
        *,
        fetch_offset: int,
        records_max: int,
        batch_size: int,
        lock_expires_ms: int,
        aborted: Sequence[AbortedRange] = (),
    ) -> list[AcquiredRecords]:
        """Deliver what can be delivered of a read from `fetch_offset` on.

        Others may have acquired, finished or released records since the read, so this looks at what
        is in flight now.

        `records_max` is a soft limit, since batches are acquired to their end. Records of `aborted`
        transactions are archived instead of delivered.
        """
        if not batches or records_max <= 0 or not self.can_acquire():
            return []
        self._archive_compacted(fetch_offset, batches[0].base_offset)
        acquired = self._acquire(member_id, batches, records_max, batch_size, lock_expires_ms)
        if acquired and aborted:
            excluded = aborted_batches(batches, aborted)
            for batch in excluded:
                self.records.archive(batch.base_offset, batch.last_offset, RecordState.ACQUIRED)
            acquired = without_batches(acquired, excluded)
        if not acquired:
            # No acknowledgement follows that would move the start beyond what was archived.
            self._advance_start()
        return acquired

    def _archive_compacted(self, fetch_offset: int, base_offset: int) -> None:
        """Archive available records that the log has no more, because a later batch was read."""
        if fetch_offset < base_offset and self.records.archive(
            fetch_offset, base_offset - 1, RecordState.AVAILABLE
        ):
            self._has_available = True

    def _acquire(
        self,
        member_id: str,
        batches: Sequence[FetchedBatch],
        records_max: int,
        batch_size: int,
        lock_expires_ms: int,
    ) -> list[AcquiredRecords]:
        first_offset, last_offset = batches[0].base_offset, batches[-1].last_offset

        def acquire_new(first: int, last: int, count_max: int) -> list[AcquiredRecords]:
            return self._acquire_new(
                member_id, batches, first, last, count_max, batch_size, lock_expires_ms
            )

        known = self.records.between(first_offset, last_offset)
        if not known:
            return acquire_new(first_offset, last_offset, records_max)
        acquired: list[AcquiredRecords] = []
        left = records_max
        gap_start_offset = max(min(first_offset, known[0].first_offset), self.start_offset)
        for batch in known:
            if left <= 0:
                break
            if self._is_gap_open:
                if gap_start_offset < batch.first_offset:
                    found = acquire_new(gap_start_offset, batch.first_offset - 1, left)
                    acquired += found
                    left -= record_count(found)
                gap_start_offset = batch.last_offset + 1
                if left <= 0:
                    break
            found = acquire_available(batch, member_id, first_offset, last_offset, lock_expires_ms)
            acquired += found
            left -= record_count(found)
        if left > 0 and known[-1].last_offset < last_offset:
            acquired += acquire_new(known[-1].last_offset + 1, last_offset, left)
        if acquired:
            self._move_gap(acquired[-1].last_offset + 1)
        return acquired

    def _acquire_new(
        self,
        member_id: str,
        batches: Sequence[FetchedBatch],
        first_offset: int,
        last_offset: int,
        records_max: int,
        batch_size: int,
        lock_expires_ms: int,
    ) -> list[AcquiredRecords]:
        """Acquire offsets of a read that are not in flight yet, if there are any."""
        # The read begins with the batch that has the offset; its first part may be finished. All of
        # it is finished if others acquired and accepted it after the read, while the fetch paused.
        first_offset = max(first_offset, self.start_offset if self.records else self.end_offset)
        if first_offset > last_offset:
            return []
        if records_max < last_offset - first_offset + 1:
            wanted_offset = first_offset + records_max - 1
            last_offset = min(last_offset, last_offset_to_acquire(batches, wanted_offset))
        acquired = split_by_size(batches, first_offset, last_offset, batch_size)
        for part in acquired:
            state = InFlightState(RecordState.ACQUIRED, 1, member_id, lock_expires_ms)
            self.records.add(InFlightBatch(part, state))
        if self.records.first_offset == first_offset:
            self.start_offset = first_offset
        self.end_offset = max(self.end_offset, last_offset)
        self._move_gap(last_offset + 1)
        return acquired

    def _move_gap(self, offset: int) -> None:
        """Let the first gap begin at an offset, or behind what is in flight there."""
        if not self._is_gap_open:
            self._gap_start_offset = None
            return
        batch = self.records.floor(offset)
        while batch is not None and batch.contains(offset):
            offset = batch.last_offset + 1
            batch = self.records.floor(offset)
        self._gap_start_offset = offset if offset <= self._gap_end_offset else None

    # Acknowledge -----------------------------------------------------------------------------

    def acknowledge(
        self, member_id: str, batches: Sequence[AcknowledgementBatch], now_ms: int
    ) -> Refusal | None:
        """Accept, release or reject records that a member has acquired: all of them, or none.

        INVALID_RECORD_STATE: the member has not acquired them. INVALID_REQUEST: they are beyond
        what was ever acquired. Other errors are those of `write_state`.
        """
        changes = StateChanges()
        refusal = acknowledge_records(
            self.records,
            member_id,
            batches,
            changes,
            start_offset=self.start_offset,
            delivery_count_max=self._limits.delivery_count_max,
        )
        if refusal is not None:
            changes.undo()
            return refusal
        return self._store(changes, now_ms)

    def release_member(self, member_id: str, now_ms: int) -> Refusal | None:
        """Release what a member has acquired, as if it had never been delivered.

        The session of the member ends. Records before `start_offset` are archived.
        """
        changes = StateChanges()
        for batch in self.records:
            if not any(state.member_id == member_id for _first, _last, state in batch.states()):
                continue
            self._split_at_start(batch)
            for first_offset, last_offset, state in batch.states():
                if state.member_id != member_id:
                    continue
                changes.begin(first_offset, last_offset, state)
                if last_offset < self.start_offset:
                    state.finish(RecordState.ARCHIVED)
                else:
                    state.take_back()
        return self._store(changes, now_ms)

    # Locks -----------------------------------------------------------------------------------

    def next_lock_expiry_ms(self) -> int | None:
        """Return when the next acquisition lock expires; None if nothing is acquired."""
        locks = (state.lock_expires_ms for _batch, state in self.records.acquired_states())
        return min(locks, default=None)

    def expire_locks(self, now_ms: int) -> bool:
        """Make records available, or archive them, whose locks have expired; True if there are any.

        This happens even if the changes cannot be stored.
        """
        expired = {
            id(batch): batch
            for batch, state in self.records.acquired_states()
            if state.lock_expires_ms <= now_ms
        }
        changes = StateChanges()
        for batch in expired.values():
            self._split_at_start(batch)
            for first_offset, last_offset, state in batch.states():
                if state.state is RecordState.ACQUIRED and state.lock_expires_ms <= now_ms:
                    changes.begin(first_offset, last_offset, state)
                    is_gone = last_offset < self.start_offset
                    if is_gone:
                        state.finish(RecordState.ARCHIVED)
                    else:
                        state.make_available(self._limits.delivery_count_max)
        if changes:
            self._write_state(self.start_offset, changes.state_batches(), now_ms)
            self._finish(changes)
        return bool(changes)

    def _split_at_start(self, batch: InFlightBatch) -> None:
        if batch.first_offset < self.start_offset <= batch.last_offset:
            batch.split()

    # Start offset ----------------------------------------------------------------------------

    def move_log_start(self, log_start_offset: int) -> None:
        """Follow the log, whose first records were deleted."""
        if log_start_offset <= self.start_offset:
            return
        if not self.records:
            self.start_offset = self.end_offset = log_start_offset
            return
        self.records.archive(self.start_offset, log_start_offset - 1, RecordState.AVAILABLE)
        self._has_available = True
        self.start_offset = log_start_offset
        self.end_offset = max(self.end_offset, log_start_offset)
        if self._gap_start_offset is not None:
            self._move_gap(max(self._gap_start_offset, log_start_offset))
        self._advance_start()

    def _store(self, changes: StateChanges, now_ms: int) -> Refusal | None:
        if not changes:
            return None
        refusal = self._write_state(self.start_offset, changes.state_batches(), now_ms)
        if refusal is not None:
            changes.undo()
            return refusal
        self._finish(changes)
        return None

    def _finish(self, changes: StateChanges) -> None:
        self._has_available |= changes.has_available
        self._advance_start()

    def _advance_start(self) -> None:
        """Move the start beyond finished records, and forget batches that are finished."""
        last_finished = self._last_finished_offset()
        if last_finished is None:
            return
        self.records.remove_before(last_finished + 1)
        next_offset = last_finished + 1
        if self.records:
            next_offset = max(next_offset, self.records.first_offset)
            if self._is_gap_open and self._gap_start_offset is not None:
                next_offset = min(self._gap_start_offset, next_offset)
        # The log start may be past records that are still acquired: the start does not go back.
        self.start_offset = max(self.start_offset, next_offset)
        if not self.records:
            self.end_offset = self.start_offset

    def _last_finished_offset(self) -> int | None:
        """Return the last offset before the first record that is not finished."""
        if not self.records:
            return None
        first = self.records.floor(self.start_offset)
        if first is None:
            # Offsets at the start are a gap, which has to be acquired first.
            return None
        if not first.state_at(min(self.start_offset, first.last_offset)).state.is_final:
            return None
        found = None
        for batch in self.records:
            gap_start_offset = self._gap_start_offset if self._is_gap_open else None
            if gap_start_offset is not None and batch.last_offset >= gap_start_offset:
                return found
            for _first, last_offset, state in batch.states():
                if not state.state.is_final:
                    return found
                found = last_offset
        return found
