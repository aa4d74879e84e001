"""The transactions that a cleaning of a log has met so far.

Source: Kafka's `CleanedTransactionMetadata`.
"""

from collections.abc import Iterable

from broker.cluster.transaction_index import AbortedTransaction
from protocol.control_records import ControlRecordType, decode_control_key
from protocol.records import TRANSACTIONAL_FLAG, BatchHeader, read_records


class CleanedTransactions:
    """Which batches and markers may go. Pass every batch of a log, the oldest first."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self.kept: list[AbortedTransaction] = []
        """Aborted transactions of which there was a batch, in the order of their markers."""
        self._coming = sorted(aborted, key=lambda known: known.first_offset, reverse=True)
        self._aborted: dict[int, AbortedTransaction] = {}
        """Those that are not at their markers, by producer id."""
        self._aborted_with_batch: set[int] = set()
        self._committed_with_batch: set[int] = set()

    def can_discard_marker(self, header: BatchHeader, batch: bytes) -> bool:
        """Return whether no batch is left of the transaction that a marker ends."""
        self._begin_up_to(header)
        marker = next(read_records(batch), None) if header.records_count else None
        if marker is None:  # only the last one of its producer is kept without its record
            return True
        producer_id, kind = header.producer_id, decode_control_key(marker.key or b"")
        if kind == ControlRecordType.ABORT:
            known = self._aborted.pop(producer_id, None)
            if known is None or producer_id not in self._aborted_with_batch:
                return True
            self._aborted_with_batch.discard(producer_id)
            self.kept.append(known)
            return False
        if kind == ControlRecordType.COMMIT:
            had_batch = producer_id in self._committed_with_batch
            self._committed_with_batch.discard(producer_id)
            return not had_batch
        return False

    def is_aborted(self, header: BatchHeader) -> bool:
        """Return whether a batch is of an aborted transaction."""
        self._begin_up_to(header)
        if not header.attributes & TRANSACTIONAL_FLAG:
            return False
        is_aborted = header.producer_id in self._aborted
        seen = self._aborted_with_batch if is_aborted else self._committed_with_batch
        seen.add(header.producer_id)
        return is_aborted

    def _begin_up_to(self, header: BatchHeader) -> None:
        last_offset = header.base_offset + header.last_offset_delta
        while self._coming and self._coming[-1].first_offset <= last_offset:
            known = self._coming.pop()
            self._aborted.setdefault(known.producer_id, known)
