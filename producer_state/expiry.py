"""Remove the producers of one partition that wrote nothing for long.

Source: Kafka's `ProducerStateManager.removeExpiredProducers`.
"""

from producer_state.row_layout import Layout
from producer_state.row_table import RowTable, id_at
from producer_state.transactions import PartitionTransactions

NEVER_MS = 2**63
"""Later than every timestamp: the oldest time of a partition without producers."""


def remove_expired(
    table: RowTable,
    bucket_index: int,
    layout: Layout,
    transactions: PartitionTransactions | None,
    latest_expired_ms: int,
) -> tuple[int, int]:
    """Remove the producers of a bucket that wrote nothing after `latest_expired_ms`.

    Returns how many, and the oldest time of those that stay. One with an open transaction stays.
    """
    rows, row_bytes = table.rows_of(bucket_index), table.row_bytes
    timestamps = [timestamp for (timestamp,) in layout.timestamps.iter_unpack(rows)]
    if transactions is not None and transactions.entries:
        for number in range(len(timestamps)):
            transactional = transactions.entries.get(id_at(rows, number * row_bytes))
            if transactional is not None:
                timestamps[number] = transactional.last_timestamp
    if min(timestamps, default=NEVER_MS) > latest_expired_ms:
        return 0, min(timestamps, default=NEVER_MS)
    kept = [
        number
        for number, timestamp in enumerate(timestamps)
        if timestamp > latest_expired_ms
        or (transactions is not None and not transactions.forget(id_at(rows, number * row_bytes)))
    ]
    removed = table.keep(bucket_index, [number * row_bytes for number in kept])
    return removed, min((timestamps[number] for number in kept), default=NEVER_MS)
