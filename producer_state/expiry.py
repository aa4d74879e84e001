"""The rows of the producers of one partition, and how they expire.

Source: Kafka's `ProducerStateManager.removeExpiredProducers`.
"""

from collections.abc import Iterator

from producer_state.row_layout import Layout
from producer_state.row_table import RowTable, id_at
from producer_state.transactions import PartitionTransactions, TransactionalEntry

_NO_ENTRIES: dict[int, TransactionalEntry] = {}
# Later than every timestamp: the bound of a partition without producers.
_NEVER_MS = 2**63


class ExpiringProducers:
    """The state of the producers of one partition; those that wrote nothing for long are removed.

    `_oldest_ms` must not be after the timestamp of the newest write of any producer.
    """

    __slots__ = (
        "_is_round_open",
        "_layout",
        "_oldest_ms",
        "_table",
        "_transactional",
        "_transactions",
    )

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._table = RowTable(layout.row_bytes)
        # Most partitions never have a transaction.
        self._transactions: PartitionTransactions | None = None
        self._transactional = _NO_ENTRIES
        # No producer's last write is older, so `expire` mostly returns at once.
        self._oldest_ms = _NEVER_MS
        # During a round of expiry `_oldest_ms` covers only the producers already checked.
        self._is_round_open = False

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Remove producers that wrote nothing for `expiration_ms` or longer; return how many.

        The age counts from the timestamps of records and markers, not from their arrival, as in
        Kafka. A producer with an open transaction stays. If no producer can be that old yet, the
        call returns at once.
        """
        return sum(self.expire_in_steps(now_ms, expiration_ms))

    def next_expiry_ms(self, expiration_ms: int) -> int | None:
        """Return a time before which `expire` removes nothing if no producer writes until then.

        The time may be too early; it is None if there is nothing that could expire.
        """
        # A round that was given up is begun again by the next one.
        oldest_ms = 0 if self._is_round_open else self._oldest_ms
        if self._transactions is not None:
            oldest_ms = min(oldest_ms, self._transactions.oldest_verification_ms(_NEVER_MS))
        return oldest_ms + expiration_ms if oldest_ms < _NEVER_MS else None

    def expire_in_steps(self, now_ms: int, expiration_ms: int) -> Iterator[int]:
        """Like `expire`, in steps of a few dozen producers; batches may be applied between steps.

        Finish or abandon a round of steps before the next.
        """
        latest_expired_ms = now_ms - expiration_ms
        if self._transactions is not None:
            self._transactions.expire_verifications(latest_expired_ms)
        table = self._table
        if self._oldest_ms > latest_expired_ms and not self._is_round_open:
            return
        self._is_round_open = True
        # Each step lowers the bound to the oldest producer that it keeps.
        self._oldest_ms = _NEVER_MS
        bucket_index = 0
        while bucket_index < table.bucket_count:
            yield self._expire_bucket(bucket_index, latest_expired_ms)
            bucket_index += 1
        while table.merge_one():
            yield 0
        self._is_round_open = False

    def _expire_bucket(self, bucket_index: int, latest_expired_ms: int) -> int:
        rows = self._table.rows_of(bucket_index)
        row_bytes = self._table.row_bytes
        timestamps = self._last_timestamps(rows)
        removed = 0
        if min(timestamps, default=_NEVER_MS) <= latest_expired_ms:
            kept = [
                number
                for number, timestamp in enumerate(timestamps)
                if timestamp > latest_expired_ms
                or not self._forget(id_at(rows, number * row_bytes))
            ]
            removed = self._table.keep(bucket_index, [number * row_bytes for number in kept])
            timestamps = [timestamps[number] for number in kept]
        self._oldest_ms = min([self._oldest_ms, *timestamps])
        return removed

    def _last_timestamps(self, rows: bytearray) -> list[int]:
        """Return the time of each producer's newest batch or marker in a bucket's rows, in ms."""
        timestamps = [timestamp for (timestamp,) in self._layout.timestamps.iter_unpack(rows)]
        if self._transactional:
            for number in range(len(timestamps)):
                producer_id = id_at(rows, number * self._table.row_bytes)
                transactional = self._transactional.get(producer_id)
                if transactional is not None:
                    timestamps[number] = transactional.last_timestamp
        return timestamps

    def _forget(self, producer_id: int) -> bool:
        """Remove a producer's transactional state; return False if a transaction is open."""
        return self._transactions is None or self._transactions.forget(producer_id)
