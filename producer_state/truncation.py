"""Rebuild the state of some producers of a partition whose log has lost its end.

Kafka reloads a snapshot and reads the log behind it. Here the producers of the lost batches are
forgotten, and what the log still has of theirs is applied again.

Source: Kafka's `ProducerStateManager.truncateAndReload` and `UnifiedLog.rebuildProducerState`.
"""

from collections.abc import Set
from typing import NamedTuple, Protocol

from producer_state.row_table import RowTable, id_at
from producer_state.transactions import PartitionTransactions


class _Producers(Protocol):
    """What `ProducerStateManager` does with batches and markers."""

    def apply(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        last_offset_delta: int,
        base_offset: int,
        timestamp_ms: int,
        is_transactional: bool = False,
    ) -> None: ...

    def apply_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp_ms: int
    ) -> int: ...


class StoredBatch(NamedTuple):
    """A batch of a producer that a log has, or a marker with the epoch of its coordinator."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_offset_delta: int
    base_offset: int
    timestamp_ms: int
    is_transactional: bool
    coordinator_epoch: int | None = None

    def apply_to(self, producers: _Producers) -> None:
        """Apply it as when it was appended."""
        if self.coordinator_epoch is None:
            producers.apply(*self[:-1])
        else:
            producers.apply_marker(*self[:2], self.coordinator_epoch, self.timestamp_ms)


def forget(table: RowTable, transactions: PartitionTransactions, producer_ids: Set[int]) -> None:
    """Remove the state of producers, and their open transactions."""
    row_bytes = table.row_bytes
    for index in range(table.bucket_count):
        rows = table.rows_of(index)
        positions = range(0, len(rows), row_bytes)
        kept = [position for position in positions if id_at(rows, position) not in producer_ids]
        if len(kept) < len(positions):
            table.keep(index, kept)
    for producer_id in producer_ids:
        transactions.remove(producer_id)
