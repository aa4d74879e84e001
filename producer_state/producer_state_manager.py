"""The state of the idempotent producers of one partition, in little memory.

Kafka's `ProducerStateManager`, without segments and snapshots. State changes only after an append
(`apply`, `apply_marker`); a refused batch changes nothing. The state is not part of the log:
deleting records does not change it. The partition keeps it when its leader changes; `convert`
adapts it to the new leader's rule.
"""

import sys
from collections.abc import Iterable, Iterator, Set

from producer_state.entries import ProducerEntries
from producer_state.expiry import NEVER_MS, remove_expired
from producer_state.row_layout import (
    EPOCH_AND_NEWEST,
    FLOOR,
    FLOOR_AT,
    FLOOR_PERIOD_MASK,
    LAST_SEQUENCE,
    epoch_at,
    layout_of,
    row_of,
    set_floor,
    with_floor,
)
from producer_state.row_table import ID_BYTES, RowTable
from producer_state.rules import (
    APPEND,
    NO_EPOCH,
    NO_OFFSET,
    NO_SEQUENCE,
    OUT_OF_ORDER,
    SEQUENCE_MAX,
    STALE_EPOCH,
    Decision,
    Entry,
    Refused,
    decide,
    floor_after,
)
from producer_state.transactions import PartitionTransactions, TransactionalEntry
from producer_state.truncation import StoredBatch, forget
from protocol.errors import ErrorCode

_unpack_last_sequence = LAST_SEQUENCE.unpack_from
_pack_newest_into = EPOCH_AND_NEWEST.pack_into
_NO_ENTRIES: dict[int, TransactionalEntry] = {}
_EPOCH_MAX = 2**15 - 1
_NEWER_EPOCH_VERSION_MIN = 2


class ProducerStateManager(ProducerEntries):
    """All idempotent producers of one partition, under one of two rule sets.

    `batches` is 5 for Kafka's rule (a duplicate of one of the five newest batches succeeds with its
    first offset) or 1 for KIP-758's (the newest batch and a `window` of sequence numbers before
    it; a duplicate is DUPLICATE_SEQUENCE_NUMBER). Others are a ValueError.
    """

    __slots__ = ("_is_round_open", "_oldest_ms", "_transactions")

    def __init__(self, *, batches: int, window: int) -> None:
        layout = layout_of(batches, window)
        super().__init__(layout, RowTable(layout.row_bytes), _NO_ENTRIES)
        # Most partitions never have a transaction.
        self._transactions: PartitionTransactions | None = None
        # No producer's last write is older, so `expire` mostly returns at once.
        self._oldest_ms = NEVER_MS
        # During a round of expiry `_oldest_ms` covers only the producers already checked.
        self._is_round_open = False

    def __len__(self) -> int:
        return len(self._table)

    @property
    def _own_transactions(self) -> PartitionTransactions:
        """The transactions of this partition, from the first one on."""
        if self._transactions is None:
            self._transactions = PartitionTransactions()
            self._transactional = self._transactions.entries
        return self._transactions

    def check(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        last_offset_delta: int,
        is_transactional: bool = False,
    ) -> Decision:
        """Decide about a batch, changing nothing; verify a transactional one before."""
        table = self._table
        is_found = producer_id == table.found_id  # as `find` begins, without a call
        position = table.found_position if is_found else table.find(producer_id)
        if position < 0:
            if is_transactional and self._own_transactions.is_out_of_order(
                producer_id, base_sequence, has_batches=False
            ):
                return OUT_OF_ORDER
            return APPEND
        known_epoch, last_sequence = _unpack_last_sequence(table.bucket, position + ID_BYTES)
        # The most frequent decisions, without creating an entry.
        if producer_epoch == known_epoch and base_sequence == (last_sequence + 1) & SEQUENCE_MAX:
            if producer_id not in self._transactional:
                return APPEND
            if is_transactional:
                has_batches = last_sequence != NO_SEQUENCE
                is_out_of_order = self._own_transactions.is_out_of_order(
                    producer_id, base_sequence, has_batches=has_batches
                )
                return OUT_OF_ORDER if is_out_of_order else APPEND
        entry = self.entry(producer_id)
        batch = producer_epoch, base_sequence, last_offset_delta
        decision = decide(self._layout.rules, entry, *batch, is_transactional=is_transactional)
        if (
            is_transactional
            and decision is APPEND
            and self._own_transactions.is_out_of_order(
                producer_id, base_sequence, has_batches=bool(entry and entry.batches)
            )
        ):
            return OUT_OF_ORDER
        return decision

    # Hot path: `check` and `apply` in one.
    def apply_next(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        last_offset_delta: int,
        base_offset: int,
        timestamp_ms: int,
    ) -> bool:
        """Store a batch that goes on where its producer stopped, as `apply` does.

        Returns False, and changes nothing, for any other batch and for producers that write in
        transactions: `check` has to decide about these.
        """
        table = self._table
        if producer_id != table.found_id:
            table.find(producer_id)
        position = table.found_position
        if position < 0:
            return False
        bucket, fields_at = table.bucket, position + ID_BYTES
        known_epoch, known_sequence = _unpack_last_sequence(bucket, fields_at)
        if (
            producer_epoch != known_epoch
            or base_sequence != (known_sequence + 1) & SEQUENCE_MAX
            or (self._transactional and producer_id in self._transactional)
        ):
            return False
        last_sequence = (base_sequence + last_offset_delta) & SEQUENCE_MAX
        layout = self._layout
        if layout.has_floor and last_sequence & FLOOR_PERIOD_MASK > last_offset_delta:
            _pack_newest_into(
                bucket,
                fields_at,
                producer_epoch,
                base_sequence,
                last_sequence,
                base_offset,
                timestamp_ms,
            )
            if timestamp_ms < self._oldest_ms:  # noqa: PLR1730 - as in `apply`
                self._oldest_ms = timestamp_ms
        else:
            self.apply(
                producer_id,
                producer_epoch,
                base_sequence,
                last_offset_delta,
                base_offset,
                timestamp_ms,
            )
        return True

    def apply(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        last_offset_delta: int,
        base_offset: int,
        timestamp_ms: int,
        is_transactional: bool = False,
    ) -> None:
        """Store a batch after `check`, whose `find` it reuses; `timestamp_ms` is the maximum.

        A coordinator's batch needs no `check`: each one begins with the sequence number 0.
        """
        last_sequence = (base_sequence + last_offset_delta) & SEQUENCE_MAX
        table = self._table
        layout = self._layout
        # Protocol of `RowTable`: `check` mostly found this row; `find` costs as much as the rest.
        is_found = producer_id == table.found_id
        position = table.found_position if is_found else table.find(producer_id)
        if position < 0:
            tail = layout.first_tail
            if layout.has_floor:
                tail = FLOOR.pack(floor_after(base_sequence, base_sequence, last_offset_delta))
            table.add(
                producer_id,
                layout.pack(
                    producer_epoch, base_sequence, last_sequence, base_offset, timestamp_ms, tail
                ),
            )
        elif layout.has_floor:
            if last_sequence & FLOOR_PERIOD_MASK <= last_offset_delta:
                set_floor(table, position, producer_epoch, base_sequence, last_offset_delta)
            _pack_newest_into(
                table.bucket,
                position + ID_BYTES,
                producer_epoch,
                base_sequence,
                last_sequence,
                base_offset,
                timestamp_ms,
            )
        else:
            # Older batches move by one and the oldest is dropped; a new epoch has none.
            fields_at = position + ID_BYTES
            known_epoch, moved = layout.unpack_moved(table.bucket, fields_at)
            layout.pack_into(
                table.bucket,
                fields_at,
                producer_epoch,
                base_sequence,
                last_sequence,
                base_offset,
                timestamp_ms,
                moved if known_epoch == producer_epoch else layout.first_tail,
            )
        if is_transactional or producer_id in self._transactional:
            self._own_transactions.note_batch(
                producer_id, base_offset, timestamp_ms, is_transactional=is_transactional
            )
        if timestamp_ms < self._oldest_ms:  # noqa: PLR1730 - a call of min takes three times as long
            self._oldest_ms = timestamp_ms

    @property
    def first_unstable_offset(self) -> int:
        """The first offset of the oldest open transaction; NO_OFFSET if none is open."""
        return NO_OFFSET if (known := self._transactions) is None else known.first_unstable_offset

    def transaction_start_offset(self, producer_id: int) -> int:
        """Return the first offset of a producer's open transaction; NO_OFFSET if it has none."""
        return (
            NO_OFFSET if (known := self._transactions) is None else known.start_offset(producer_id)
        )

    def begin_verification(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        now_ms: int,
        *,
        supports_epoch_bump: bool,
    ) -> Refused | bool:
        """Return whether the transaction of a batch has to be verified before the append.

        That is not so if the producer has an open transaction here. A stale epoch is refused.
        `supports_epoch_bump`: the producer uses transaction version 2. Kafka's
        `UnifiedLog.maybeStartTransactionVerification`.
        """
        table = self._table
        position = table.find(producer_id)
        if position >= 0:
            known_epoch = epoch_at(table, position)
            if producer_epoch < known_epoch:
                return STALE_EPOCH
            known = self._transactions
            if producer_epoch == known_epoch and known is not None and known.is_open(producer_id):
                return False
        self._own_transactions.begin_verification(
            producer_id,
            producer_epoch,
            base_sequence,
            now_ms,
            supports_epoch_bump=supports_epoch_bump,
        )
        return True

    def check_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        transaction_version: int = 0,
    ) -> ErrorCode:
        """Return the error of a transaction marker, or NONE.

        INVALID_PRODUCER_EPOCH for an epoch older than the producer's;
        TRANSACTION_COORDINATOR_FENCED for a coordinator epoch older than the latest marker's. An
        unknown producer has the epochs -1. A negative producer id is no producer.

        From transaction version 2 on the end of a transaction has a newer epoch (KIP-1228).
        """
        if producer_id < 0:
            return ErrorCode.NONE
        table = self._table
        position = table.find(producer_id)
        current_epoch = NO_EPOCH if position < 0 else epoch_at(table, position)
        if producer_epoch < current_epoch or (
            producer_epoch == current_epoch
            and transaction_version >= _NEWER_EPOCH_VERSION_MIN
            and producer_epoch != _EPOCH_MAX
            and self.transaction_start_offset(producer_id) != NO_OFFSET
        ):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        transactional = self._transactional.get(producer_id)
        if coordinator_epoch < (transactional.coordinator_epoch if transactional else NO_EPOCH):
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE

    def apply_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp_ms: int
    ) -> int:
        """Store a marker that was just written; it ends the transaction.

        Returns the first offset of the transaction, or NO_OFFSET if none was open.

        A marker of the producer's epoch keeps its batches, so that duplicates are still recognised.
        A marker that bumps the epoch clears them and sets the floor to 0, where the epoch begins.
        An unknown producer is added, which fences its older epochs.
        """
        table, layout = self._table, self._layout
        no_sequences = (NO_SEQUENCE, NO_SEQUENCE, NO_OFFSET)
        no_batches = (producer_epoch, *no_sequences, timestamp_ms, layout.first_tail)
        position = table.find(producer_id)
        if position < 0:
            table.add(producer_id, layout.pack(*no_batches))
        elif epoch_at(table, position) != producer_epoch:
            layout.pack_into(table.bucket, position + ID_BYTES, *no_batches)
        if timestamp_ms < self._oldest_ms:  # noqa: PLR1730 - as in `apply`
            self._oldest_ms = timestamp_ms
        return self._own_transactions.end(
            producer_id, producer_epoch, coordinator_epoch, timestamp_ms
        )

    def replay(self, producer_ids: Set[int], stored: Iterable[StoredBatch]) -> None:
        """Know of some producers only what is `stored`, in offset order."""
        forget(self._table, self._own_transactions, producer_ids)
        for batch in stored:
            batch.apply_to(self)
        self._own_transactions.sort()

    def restore(self, producer_id: int, entry: Entry) -> None:
        """Know of a new producer what was saved of it, perhaps under the other rule."""
        self._table.add(producer_id, row_of(self._layout, entry))
        self._oldest_ms = min(self._oldest_ms, entry.last_timestamp)
        if entry.coordinator_epoch != NO_EPOCH or entry.current_txn_start_offset != NO_OFFSET:
            self._own_transactions.restore(producer_id, TransactionalEntry(*entry[3:]))

    def convert(self, *, batches: int, window: int) -> None:
        """Change the rule or the window; without a change this is free.

        From 5 batches to 1 a producer keeps its newest batch; the floor is the first sequence
        number of the oldest known batch, since nothing before it is known to be stored. From 1 to
        5 the newest batch is its whole history. A change of `batches` rewrites all rows.
        """
        layout = layout_of(batches, window)
        if layout.row_bytes != self._layout.row_bytes:
            add_history = lambda row: row[:FLOOR_AT] + layout.first_tail  # noqa: E731
            self._table.rewrite(layout.row_bytes, with_floor if layout.has_floor else add_history)
        self._layout = layout

    def next_expiry_ms(self, expiration_ms: int) -> int | None:
        """Return a time before which nothing expires if no producer writes until then.

        The time may be too early; it is None if there is nothing that could expire.
        """
        # A round that was given up is begun again by the next one.
        oldest_ms = 0 if self._is_round_open else self._oldest_ms
        if self._transactions is not None:
            oldest_ms = min(oldest_ms, self._transactions.oldest_verification_ms(NEVER_MS))
        return oldest_ms + expiration_ms if oldest_ms < NEVER_MS else None

    def expire_in_steps(self, now_ms: int, expiration_ms: int) -> Iterator[int]:
        """Remove producers that wrote nothing for `expiration_ms` or longer; yield how many.

        The age counts from the timestamps of records and markers, not from their arrival, as in
        Kafka. A producer with an open transaction stays. A step is a few dozen producers; batches
        may be applied between steps. Finish or abandon a round of steps before the next.
        """
        latest_expired_ms = now_ms - expiration_ms
        if self._transactions is not None:
            self._transactions.expire_verifications(latest_expired_ms)
        table = self._table
        if self._oldest_ms > latest_expired_ms and not self._is_round_open:
            return
        self._is_round_open = True
        # Each step lowers the bound to the oldest producer that it keeps.
        self._oldest_ms = NEVER_MS
        bucket_index = 0
        while bucket_index < table.bucket_count:
            removed, oldest_ms = remove_expired(
                table, bucket_index, self._layout, self._transactions, latest_expired_ms
            )
            self._oldest_ms = min(self._oldest_ms, oldest_ms)
            yield removed
            bucket_index += 1
        while table.merge_one():
            yield 0
        self._is_round_open = False

    def bytes_held(self) -> int:
        """Return the memory of this object by `sys.getsizeof`, in bytes."""
        transactions = self._transactions
        held = sys.getsizeof(self) + self._table.bytes_held()
        return held if transactions is None else held + transactions.bytes_held()
