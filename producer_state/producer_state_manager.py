"""The state of the idempotent producers of one partition, in little memory.

Kafka's `ProducerStateManager`, without segments and snapshots. State changes only after an append
(`apply`, `apply_marker`); a refused batch changes nothing. The state is not part of the log:
deleting records does not change it. The partition keeps it when its leader changes; `convert`
adapts it to the new leader's rule.

The fields of a producer are 38 bytes under KIP-758's rule (id 8, epoch 2, sequences 4 + 4, offset
8, timestamp 8, floor 4). Under Kafka's they are 130: 24 per further batch, no floor. A million of
them in 100 partitions take 49 and 149 bytes each of resident memory: 12 rows share the head of a
bucket, and the allocator rounds buckets up (`benchmarks`, producer-state). Transactional state is
kept separately (`transactions`), for the producers that have it.
"""

import heapq
import sys
from itertools import islice

from producer_state.producer_batches import ProducerBatches
from producer_state.row_layout import (
    FLOOR_AT,
    LAST_SEQUENCE,
    epoch_at,
    layout_of,
    with_floor,
)
from producer_state.row_table import ID_BYTES
from producer_state.rules import (
    NO_EPOCH,
    NO_OFFSET,
    NO_SEQUENCE,
    STALE_EPOCH,
    ProducerDescription,
    Refused,
)
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced, paced_stream

SORTED_TOGETHER = 4096
"""Producer ids that one call sorts, in less than a millisecond."""

_unpack_last_sequence = LAST_SEQUENCE.unpack_from


class ProducerStateManager(ProducerBatches):
    """All idempotent producers of one partition, under one of two rule sets.

    `batches` is 5 for Kafka's rule (a duplicate of one of the five newest batches succeeds with its
    first offset) or 1 for KIP-758's (the newest batch and a `window` of sequence numbers before
    it; a duplicate is DUPLICATE_SEQUENCE_NUMBER). Others are a ValueError.
    """

    __slots__ = ()

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

    def check_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int
    ) -> ErrorCode:
        """Return the error of a transaction marker, or NONE.

        INVALID_PRODUCER_EPOCH for an epoch older than the producer's;
        TRANSACTION_COORDINATOR_FENCED for a coordinator epoch older than the latest marker's. An
        unknown producer has the epochs -1. A negative producer id is no producer.
        """
        if producer_id < 0:
            return ErrorCode.NONE
        table = self._table
        position = table.find(producer_id)
        if producer_epoch < (NO_EPOCH if position < 0 else epoch_at(table, position)):
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
        position = table.find(producer_id)
        if position < 0:
            no_batches = layout.pack(
                producer_epoch,
                NO_SEQUENCE,
                NO_SEQUENCE,
                NO_OFFSET,
                timestamp_ms,
                layout.first_tail,
            )
            table.add(producer_id, no_batches)
        elif epoch_at(table, position) != producer_epoch:
            layout.pack_into(
                table.bucket,
                position + ID_BYTES,
                producer_epoch,
                NO_SEQUENCE,
                NO_SEQUENCE,
                NO_OFFSET,
                timestamp_ms,
                layout.first_tail,
            )
        if timestamp_ms < self._oldest_ms:  # noqa: PLR1730 - as in `apply`
            self._oldest_ms = timestamp_ms
        return self._own_transactions.end(
            producer_id, producer_epoch, coordinator_epoch, timestamp_ms
        )

    @may_pause
    def describe(self, limit: int | None = None) -> list[ProducerDescription]:
        """Return all producers, or the first `limit`, sorted by producer id.

        With many it may pause; those that are removed during a pause are left out.
        """
        producer_ids = list(paced_stream(self._table.producer_ids()))
        # Sorted in parts: one call of `sorted` cannot pause.
        parts = [
            sorted(producer_ids[start : start + SORTED_TOGETHER])
            for start in paced(range(0, len(producer_ids), SORTED_TOGETHER))
        ]
        first = islice(heapq.merge(*parts), limit)
        found = map(self._description, paced_stream(first))
        return [description for description in found if description is not None]

    def _description(self, producer_id: int) -> ProducerDescription | None:
        entry = self.entry(producer_id)
        if entry is None:
            return None
        return ProducerDescription(
            producer_id,
            entry.producer_epoch,
            entry.batches[0].last_sequence if entry.batches else NO_SEQUENCE,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.current_txn_start_offset,
        )

    def bytes_held(self) -> int:
        """Return the memory of this object by `sys.getsizeof`, in bytes."""
        transactions = self._transactions
        return (
            sys.getsizeof(self)
            + self._table.bytes_held()
            + (0 if transactions is None else transactions.bytes_held())
        )
