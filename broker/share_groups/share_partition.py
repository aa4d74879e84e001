"""A share partition: the records of one partition that are in flight for one share group.

Its leader delivers records from `start_offset` on. A delivered record is acquired by one member
until the member acknowledges it or its lock expires; then it may be delivered to another member,
as often as the delivery count limit allows.

Sources: Kafka's `SharePartition`, of 4.1 and 4.4.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from broker.errors import Refusal
from broker.share_groups.acknowledgement import AcknowledgementBatch
from broker.share_groups.acquisition import (
    AbortedRange,
    AcquiredRecords,
    Acquisition,
    FetchedBatch,
    aborted_batches,
    last_offset_to_acquire,
    record_count,
    split_by_size,
    without_batches,
)
from broker.share_groups.dead_letters import DeadLetters, SendDeadLetters
from broker.share_groups.in_flight import InFlightBatch, InFlightState, RecordState, StateBatch
from broker.share_groups.in_flight_records import InFlightRecords
from broker.share_groups.persisted_gap import PersistedGap
from broker.share_groups.record_acknowledgement import acknowledge_records
from broker.share_groups.share_rules import GetShareRules
from broker.share_groups.state_changes import StateChanges

WriteState = Callable[[int, int, Sequence[StateBatch], int], Refusal | None]
"""`write_state(start_offset, finished_count, state_batches, now_ms)` stores changes.

It returns why it could not. `finished_count` is Kafka's delivery complete count: the number of
offsets from the start offset on that are finished.
"""


class SharePartition:
    """The state machine of one share partition; times are arguments.

    `end_offset` is the last offset that was ever acquired. If nothing is in flight, it is the next
    one to acquire, as `start_offset` is. `finished_count` offsets from the start on are finished.
    """

    __slots__ = (
        "_gap",
        "_get_rules",
        "_has_available",
        "_send_dead_letters",
        "_write_state",
        "end_offset",
        "finished_count",
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
        get_rules: GetShareRules,
        write_state: WriteState,
        send_dead_letters: SendDeadLetters,
    ) -> None:
        """`state_batches` are those that the share coordinator has stored, ascending.

        `send_dead_letters` takes dead letters, and does not call back at once.
        """
        self._get_rules = get_rules
        self._write_state = write_state
        self._send_dead_letters = send_dead_letters
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.end_offset = start_offset
        self.finished_count = 0
        self.records = InFlightRecords()
        # Whether records may be available among those in flight.
        self._has_available = False
        self._gap = PersistedGap()
        if state_batches:
            self._load(state_batches)

    def _load(self, state_batches: Sequence[StateBatch]) -> None:
        gap = self._gap
        next_offset = self.start_offset
        for batch in state_batches:
            if gap.start_offset is None and batch.first_offset > next_offset:
                gap.start_offset = next_offset
            next_offset = batch.last_offset + 1
            state = InFlightState(RecordState(batch.delivery_state), batch.delivery_count)
            self.records.add(InFlightBatch(batch, state))
        self._has_available = True
        self.end_offset = gap.end_offset = self.records.last_offset
        self.finished_count = self.records.finished_count(self.start_offset, self.end_offset)
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
        return self.in_flight_count < self._get_rules().record_locks_max

    def next_fetch_offset(self) -> int:
        """Return the first offset to read: an available record or a gap, or the first new one."""
        if not self.records or self.start_offset > self.records.last_offset:
            self._has_available = False
            return self.end_offset
        if self._has_available:
            found = self.records.first_available(self._gap.open_start(self.end_offset))
            if found is not None:
                return found
            self._has_available = False
        return self.end_offset + 1

    def acquire(
        self,
        member_id: str,
        batches: Sequence[FetchedBatch],
        *,
        fetch_offset: int,
        records_max: int,
        batch_size: int,
        lock_expires_ms: int,
        is_record_limit: bool = False,
        aborted: Sequence[AbortedRange] = (),
    ) -> list[AcquiredRecords]:
        """Deliver what can be delivered of a read from `fetch_offset` on.

        Others may have acquired, finished or released records since the read, so this looks at what
        is in flight now.

        Unless `is_record_limit`, `records_max` is a soft limit, since batches are acquired to their
        end. Records of `aborted` transactions are archived instead of delivered.
        """
        if not batches or records_max <= 0 or not self.can_acquire():
            return []
        rules = self._get_rules()
        last_offset = batches[-1].last_offset
        if rules.isolates_bad_records:
            left = rules.record_locks_max - self.in_flight_count
            if left <= 0:
                # No new records, but available ones among those in flight.
                last_offset = min(last_offset, self.end_offset)
                left = self.end_offset - fetch_offset + 1
            records_max = min(records_max, left)
            if records_max <= 0:
                return []
        self._archive_compacted(fetch_offset, batches[0].base_offset)
        what = Acquisition(
            member_id,
            batches,
            batches[0].base_offset,
            last_offset,
            batch_size,
            lock_expires_ms,
            is_record_limit,
            rules,
        )
        acquired = self._acquire(what, records_max)
        if acquired and aborted:
            excluded = aborted_batches(batches, aborted)
            for batch in excluded:
                self._archive(batch.base_offset, batch.last_offset, RecordState.ACQUIRED)
            acquired = without_batches(acquired, excluded)
        if not acquired:
            # No acknowledgement follows that would move the start beyond what was archived.
            self._advance_start()
        return acquired

    def _archive_compacted(self, fetch_offset: int, base_offset: int) -> None:
        """Archive available records that the log has no more, because a later batch was read."""
        if fetch_offset < base_offset and self._archive(
            fetch_offset, base_offset - 1, RecordState.AVAILABLE
        ):
            self._has_available = True

    def _archive(self, first_offset: int, last_offset: int, state: RecordState) -> bool:
        """Archive the records of a range that are in one state; return whether there were any."""
        start = self.start_offset
        is_any_before = first_offset < start and self.records.archive(
            first_offset, min(last_offset, start - 1), state
        )
        count = self.records.archive(max(first_offset, start), last_offset, state)
        self.finished_count += count
        return bool(count or is_any_before)

    def _acquire(self, what: Acquisition, records_max: int) -> list[AcquiredRecords]:
        known = self.records.between(what.first_offset, what.last_offset)
        if not known:
            return self._acquire_new(what, what.first_offset, what.last_offset, records_max)
        acquired: list[AcquiredRecords] = []
        left = records_max
        gap_start_offset = max(min(what.first_offset, known[0].first_offset), self.start_offset)
        for batch in known:
            if left <= 0:
                break
            if self._gap.open_start(self.end_offset) is not None:
                if gap_start_offset < batch.first_offset:
                    found = self._acquire_new(what, gap_start_offset, batch.first_offset - 1, left)
                    acquired += found
                    left -= record_count(found)
                gap_start_offset = batch.last_offset + 1
                if left <= 0:
                    break
            is_bad = what.has_bad_records(batch)
            if is_bad and acquired:
                left = 0
                break
            found = what.acquire_available(batch, left, is_isolated=is_bad)
            acquired += found
            left = 0 if is_bad and found else left - record_count(found)
        if left > 0 and known[-1].last_offset < what.last_offset:
            acquired += self._acquire_new(what, known[-1].last_offset + 1, what.last_offset, left)
        if acquired:
            self._gap.move(acquired[-1].last_offset + 1, self.records, self.end_offset)
        return acquired

    def _acquire_new(
        self, what: Acquisition, first_offset: int, last_offset: int, records_max: int
    ) -> list[AcquiredRecords]:
        """Acquire offsets of a read that are not in flight yet, if there are any."""
        # The read begins with the batch that has the offset; its first part may be finished. All of
        # it is finished if others acquired and accepted it after the read, while the fetch paused.
        first_offset = max(first_offset, self.start_offset if self.records else self.end_offset)
        if first_offset > last_offset:
            return []
        if records_max < last_offset - first_offset + 1:
            wanted_offset = first_offset + records_max - 1
            last_offset = min(last_offset, last_offset_to_acquire(what.batches, wanted_offset))
        if what.is_record_limit:
            acquired = [AcquiredRecords(first_offset, last_offset, 1)]
        else:
            acquired = split_by_size(what.batches, first_offset, last_offset, what.batch_size)
        for part in acquired:
            state = InFlightState(RecordState.ACQUIRED, 1, what.member_id, what.lock_expires_ms)
            batch = InFlightBatch(part, state)
            self.records.add(batch)
            if what.is_record_limit and len(part) > records_max:
                # The rest of the batch of the log is in flight too: the next fetch finds it.
                acquired = [replace(part, last_offset=first_offset + records_max - 1)]
                batch.keep_until(acquired[0].last_offset)
                self._has_available = True
        if self.records.first_offset == first_offset:
            self.start_offset = first_offset
        self.end_offset = max(self.end_offset, last_offset)
        self._gap.move(acquired[-1].last_offset + 1, self.records, self.end_offset)
        return acquired

    # Acknowledge -----------------------------------------------------------------------------

    def acknowledge(
        self,
        member_id: str,
        batches: Sequence[AcknowledgementBatch],
        now_ms: int,
        *,
        renewed_until_ms: int = 0,
    ) -> Refusal | None:
        """Accept, release or reject records that a member has acquired: all of them, or none.

        The locks of renewed records last until `renewed_until_ms`; those before a batch that is
        refused are renewed as well. INVALID_RECORD_STATE: the member has not acquired the records,
        or the group allows no renewal. INVALID_REQUEST: they are beyond what was ever acquired.
        Other errors are those of `write_state`.
        """
        changes = StateChanges()
        refusal = acknowledge_records(
            self.records,
            member_id,
            batches,
            changes,
            start_offset=self.start_offset,
            rules=self._get_rules(),
            renewed_until_ms=renewed_until_ms,
        )
        if refusal is not None:
            changes.undo()
            return refusal
        return self._store(changes, now_ms)

    def release_member(self, member_id: str, now_ms: int) -> Refusal | None:
        """Release what a member has acquired, as its session ends.

        Before Kafka 4.2 it counts as if it had never been delivered. Records before `start_offset`
        are archived.
        """
        rules = self._get_rules()
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
                elif rules.isolates_bad_records:
                    state.make_available(rules.delivery_count_max, rules.dead_state)
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
        rules = self._get_rules()
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
                        state.make_available(rules.delivery_count_max, rules.dead_state)
        if changes:
            self._write(changes, now_ms)
            self._finish(changes, now_ms)
        return bool(changes)

    def _split_at_start(self, batch: InFlightBatch) -> None:
        if batch.first_offset < self.start_offset <= batch.last_offset:
            batch.split()

    # Dead letters ----------------------------------------------------------------------------

    def resume_dead_letters(self, now_ms: int) -> None:
        """SendDeadLetters what a former leader did not: the records that were read as archiving."""
        for dead in self.records.dead_letters(self._get_rules().delivery_count_max):
            self._send_dead_letters(dead, now_ms)

    def archive_dead_letters(self, dead: DeadLetters, now_ms: int) -> None:
        """Archive dead letters that are in their queue, or cannot be written to it."""
        self._archive(dead.first_offset, dead.last_offset, RecordState.ARCHIVING)
        stored = StateBatch(
            dead.first_offset, dead.last_offset, int(RecordState.ARCHIVED), dead.delivery_count
        )
        self._write_state(self.start_offset, self.finished_count, [stored], now_ms)
        self._advance_start()

    # Start offset ----------------------------------------------------------------------------

    def move_log_start(self, log_start_offset: int) -> None:
        """Follow the log, whose first records were deleted."""
        if log_start_offset <= self.start_offset:
            return
        if not self.records:
            self.start_offset = self.end_offset = log_start_offset
            return
        former_start_offset = self.start_offset
        self._move_start(log_start_offset)
        self.records.archive(former_start_offset, log_start_offset - 1, RecordState.AVAILABLE)
        self._has_available = True
        self.end_offset = max(self.end_offset, log_start_offset)
        gap = self._gap
        if gap.start_offset is not None:
            gap.move(max(gap.start_offset, log_start_offset), self.records, self.end_offset)
        self._advance_start()

    def _store(self, changes: StateChanges, now_ms: int) -> Refusal | None:
        if not changes:
            return None
        refusal = self._write(changes, now_ms)
        if refusal is not None:
            changes.undo()
            return refusal
        self._finish(changes, now_ms)
        return None

    def _write(self, changes: StateChanges, now_ms: int) -> Refusal | None:
        start_offset = self.start_offset
        finished_count = self.finished_count + changes.finished_count(start_offset)
        return self._write_state(start_offset, finished_count, changes.state_batches(), now_ms)

    def _finish(self, changes: StateChanges, now_ms: int) -> None:
        self.finished_count += changes.finished_count(self.start_offset)
        self._has_available |= changes.has_available
        self._advance_start()
        for dead in changes.dead_letters():
            self._send_dead_letters(dead, now_ms)

    def _advance_start(self) -> None:
        """Move the start beyond finished records, and forget batches that are finished."""
        last_finished = self._last_finished_offset()
        if last_finished is None:
            return
        # The log start may be past records that are still acquired: the start does not go back.
        self._move_start(max(self.start_offset, last_finished + 1))
        self.records.remove_before(last_finished + 1)
        if self.records:
            next_offset = self.records.first_offset
            gap_start_offset = self._gap.open_start(self.end_offset)
            if gap_start_offset is not None:
                next_offset = min(gap_start_offset, next_offset)
            # There is nothing in flight up to this offset.
            self.start_offset = max(self.start_offset, next_offset)
        if not self.records:
            self.end_offset = self.start_offset

    def _move_start(self, offset: int) -> None:
        self.finished_count -= self.records.finished_count(self.start_offset, offset - 1)
        self.start_offset = offset

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
        return self.records.last_finished(self._gap.open_start(self.end_offset))
