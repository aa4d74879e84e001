"""Write batches again with some of their records, as compaction does.

Sources: Kafka's `MemoryRecords.filterTo` and `DefaultRecordBatch.writeEmptyHeader`.
"""

from collections.abc import Generator, Iterator

from protocol.batch_builder import BatchBuilder, record_bytes_max
from protocol.compression import compress
from protocol.records import (
    COMPRESSION_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Record,
    read_header,
    with_header,
)

RECORDS_PER_STEP = 250
"""Records of a batch that one step of a compaction decodes or encodes."""
FREED_PER_STEP = 5_000
"""Batches that one step frees."""
_KEPT_FLAGS = LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG


def delete_horizon_ms(header: BatchHeader) -> int | None:
    """Return when the tombstones or the marker of a batch may be removed; None if it is not set."""
    return header.base_timestamp if header.attributes & DELETE_HORIZON_FLAG else None


def rewritten(
    batch: bytes, records: list[Record], horizon_ms: int | None = None
) -> Generator[None, None, bytes]:
    """Return a batch with some of its records only, one at least, at the same offsets.

    It has the delete horizon `horizon_ms`, or its own. Its last offset stays, and so its last
    sequence number does. It is compressed as before.
    """
    header = read_header(batch, 0)
    if horizon_ms is None:
        horizon_ms = delete_horizon_ms(header)
    bytes_max = HEADER_BYTES + sum(
        record_bytes_max(record.key, record.value, record.headers) for record in records
    )
    builder = BatchBuilder("none", bytes_max, horizon_ms)
    for number, record in enumerate(records, 1):
        delta = record.offset - header.base_offset
        builder.append(*record[1:], offset_delta=delta)
        if number % RECORDS_PER_STEP == 0:
            yield
    built = builder.build()
    made = read_header(built, 0)
    codec = header.attributes & COMPRESSION_MASK
    attributes = codec | header.attributes & _KEPT_FLAGS
    if horizon_ms is not None:
        attributes |= DELETE_HORIZON_FLAG
    is_log_append_time = header.attributes & LOG_APPEND_TIME_FLAG
    return with_header(
        built[:HEADER_BYTES] + compress(built[HEADER_BYTES:], codec),
        header._replace(
            attributes=attributes,
            base_timestamp=made.base_timestamp,
            max_timestamp=header.max_timestamp if is_log_append_time else made.max_timestamp,
            records_count=len(records),
        ),
    )


def emptied(batch: bytes) -> bytes:
    """Return a batch without its records: its offsets, its producer and its sequence stay."""
    header = read_header(batch, 0)
    return with_header(
        batch[:HEADER_BYTES],
        header._replace(
            attributes=header.attributes & _KEPT_FLAGS, base_timestamp=-1, records_count=0
        ),
    )


def free_in_steps(batches: list[bytes], count: int = FREED_PER_STEP) -> Iterator[None]:
    """Forget batches, `count` in each step: to free the memory of very many takes long."""
    while batches:
        del batches[-count:]
        if batches:
            yield
