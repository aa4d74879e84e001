"""The records in a response to Fetch, with what is known of their transactions.

Sources: Kafka's `CompletedFetch`, which omits the records of aborted transactions.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from protocol.codec import DecodeError
from protocol.control_records import ControlRecordType, decode_control_key
from protocol.records import (
    CONTROL_FLAG,
    MAGIC,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Record,
    read_records,
    whole_batches,
)


class ReadBatch(NamedTuple):
    """A batch with its records; `producer_id` is that of its transaction, None without one.

    A batch without records has the offsets of records that compaction removed.
    """

    header: BatchHeader
    records: tuple[Record, ...]
    producer_id: int | None


class Marker(NamedTuple):
    """The marker that ends a transaction of a producer in a partition."""

    offset: int
    producer_id: int
    is_committed: bool


class Unreadable(NamedTuple):
    """A batch that cannot be decoded, or has one of the formats before Kafka 0.11."""

    base_offset: int


FoundBatch = ReadBatch | Marker | Unreadable


def read_batches(buffer: bytes) -> Iterator[FoundBatch]:
    """Yield the batches of a buffer, up to one that is cut off."""
    for header, start, end in whole_batches(buffer):
        if header.magic != MAGIC:
            yield Unreadable(header.base_offset)
            continue
        try:
            records = tuple(read_records(buffer[start:end]))
            if not header.attributes & CONTROL_FLAG:
                is_transactional = bool(header.attributes & TRANSACTIONAL_FLAG)
                yield ReadBatch(header, records, header.producer_id if is_transactional else None)
                continue
            kinds = {record.offset: decode_control_key(record.key or b"") for record in records}
        except (DecodeError, ValueError):
            yield Unreadable(header.base_offset)
            continue
        for offset, kind in kinds.items():
            if kind in set(ControlRecordType):
                yield Marker(offset, header.producer_id, kind == ControlRecordType.COMMIT)


def next_offset(buffer: bytes) -> int | None:
    """Return the offset after the last whole batch of a buffer; None if it has none."""
    found = None
    for header, _, _ in whole_batches(buffer):
        # The base offset of an older format is the last one of what is inside.
        found = header.base_offset + 1 + (header.last_offset_delta if header.magic == MAGIC else 0)
    return found


def committed_batches(
    found: Iterable[FoundBatch], aborted: Iterable[tuple[int, int]]
) -> Iterator[ReadBatch | Unreadable]:
    """Yield the batches that a reader with read_committed sees.

    `aborted` are the aborted transactions of the response: pairs of a first offset and a producer
    id.
    """
    ahead = sorted(aborted, reverse=True)
    aborting: set[int] = set()
    for batch in found:
        if isinstance(batch, Marker):
            if not batch.is_committed:
                aborting.discard(batch.producer_id)
            continue
        if isinstance(batch, Unreadable):
            yield batch
            continue
        last_offset = batch.header.base_offset + batch.header.last_offset_delta
        while ahead and ahead[-1][0] <= last_offset:
            aborting.add(ahead.pop()[1])
        if batch.producer_id not in aborting:
            yield batch
