"""The batches that idempotent producers wrote to one partition: decide about one, and store it."""

from producer_state.expiry import ExpiringProducers
from producer_state.row_layout import (
    BATCH,
    BATCHES_AT,
    EPOCH,
    EPOCH_AND_NEWEST,
    FLOOR,
    FLOOR_AT,
    LAST_SEQUENCE,
    layout_of,
)
from producer_state.row_table import ID_BYTES
from producer_state.rules import (
    APPEND,
    NO_SEQUENCE,
    OUT_OF_ORDER,
    SEQUENCE_MAX,
    WINDOW_MAX,
    Batch,
    Decision,
    Entry,
    decide,
    floor_after,
)
from producer_state.transactions import PartitionTransactions

# Only a batch that contains a multiple of this updates the floor: doing so every time would cost a
# tenth of `apply`. In between, the floor is at most 3/4 of all sequence numbers before the newest
# one, so it never seems to be after it. An epoch begins with 0, a multiple.
_FLOOR_PERIOD = 2**29
_FLOOR_PERIOD_MASK = _FLOOR_PERIOD - 1
_unpack_last_sequence = LAST_SEQUENCE.unpack_from
_pack_newest_into = EPOCH_AND_NEWEST.pack_into


class ProducerBatches(ExpiringProducers):
    """The rows of a partition's producers, as far as batches change them.

    `ProducerStateManager` has the rest: verification, markers and descriptions.
    """

    __slots__ = ()

    def __init__(self, *, batches: int, window: int) -> None:
        super().__init__(layout_of(batches, window))

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
        decision = decide(
            self._layout.rules,
            entry,
            producer_epoch,
            base_sequence,
            last_offset_delta,
            is_transactional=is_transactional,
        )
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
        is_found = producer_id == table.found_id
        position = table.found_position if is_found else table.find(producer_id)
        if position < 0:
            return False
        bucket, fields_at = table.bucket, position + ID_BYTES
        known_epoch, known_sequence = _unpack_last_sequence(bucket, fields_at)
        if (
            producer_epoch != known_epoch
            or base_sequence != (known_sequence + 1) & SEQUENCE_MAX
            or producer_id in self._transactional
        ):
            return False
        last_sequence = (base_sequence + last_offset_delta) & SEQUENCE_MAX
        layout = self._layout
        if layout.has_floor and last_sequence & _FLOOR_PERIOD_MASK > last_offset_delta:
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
            if last_sequence & _FLOOR_PERIOD_MASK <= last_offset_delta:
                self._set_floor(position, producer_epoch, base_sequence, last_offset_delta)
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

    def _set_floor(
        self, position: int, producer_epoch: int, base_sequence: int, last_offset_delta: int
    ) -> None:
        """Write the floor after a batch; the row still has the previous batch."""
        bucket = self._table.bucket
        floor = base_sequence
        if EPOCH.unpack_from(bucket, position + ID_BYTES)[0] == producer_epoch:
            floor = FLOOR.unpack_from(bucket, position + FLOOR_AT)[0]
            if floor == base_sequence and last_offset_delta < WINDOW_MAX:
                return  # as for the first batch after a marker
        floor = floor_after(floor, base_sequence, last_offset_delta)
        FLOOR.pack_into(bucket, position + FLOOR_AT, floor)

    def entry(self, producer_id: int) -> Entry | None:
        """Return the state of a producer; None if it has none."""
        table = self._table
        position = table.find(producer_id)
        if position < 0:
            return None
        bucket, layout = table.bucket, self._layout
        batches_at, batches_end = position + BATCHES_AT, position + layout.batches_end
        batches = tuple(
            batch
            for batch in map(Batch._make, BATCH.iter_unpack(bucket[batches_at:batches_end]))
            if batch.last_sequence != NO_SEQUENCE
        )
        producer_epoch = EPOCH.unpack_from(bucket, position + ID_BYTES)[0]
        floor = NO_SEQUENCE
        if layout.has_floor:
            floor = FLOOR.unpack_from(bucket, position + FLOOR_AT)[0]
        transactional = self._transactional.get(producer_id)
        if transactional is not None:
            return Entry(producer_epoch, batches, floor, *transactional)
        return Entry(producer_epoch, batches, floor, last_timestamp=batches[0].timestamp)
