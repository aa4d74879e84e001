"""The bytes of a batch that is stored in another form than it was sent.

Source: Kafka's `LogValidator.buildRecordsAndAssignOffsets` and `MemoryRecordsBuilder`.
"""

from typing import NamedTuple

from protocol.checksum import crc32c
from protocol.compression import compress
from protocol.records import (
    CRC_START,
    HEADER_BYTES,
    KNOWN_FLAGS,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD_BYTES,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    HeaderFields,
    pack_header,
)

_RECORDS_AT = HEADER_BYTES - CRC_START
"""Where the records begin in the bytes that the CRC covers."""


class StoredBatch(NamedTuple):
    """A batch as if it had been sent like this: its header, and the bytes that the CRC covers."""

    header: BatchHeader
    covered: bytes

    @property
    def size_bytes(self) -> int:
        """Size of the whole batch."""
        return self.header.batch_length + LOG_OVERHEAD_BYTES

    def data(self) -> bytes:
        """Return the whole batch."""
        return pack_header(*self.header)[:CRC_START] + self.covered


def with_max_timestamp(
    header: HeaderFields, covered: bytes | bytearray | memoryview, max_timestamp: int
) -> StoredBatch:
    """Return a batch with the largest timestamp of its records, and these in CreateTime."""
    sent = BatchHeader._make(header)
    attributes = sent.attributes & KNOWN_FLAGS & ~LOG_APPEND_TIME_FLAG
    changed = sent._replace(attributes=attributes, max_timestamp=max_timestamp)
    return _stored(changed, covered[_RECORDS_AT:])


def rebuilt(
    header: HeaderFields,
    records: bytes,
    codec: int,
    level: int | None,
    base_timestamp: int,
    max_timestamp: int,
) -> StoredBatch:
    """Return a batch with these records, compressed by the broker; the producer's fields stay.

    `records` are their bytes without compression, with consecutive offsets.
    """
    sent = BatchHeader._make(header)
    payload = compress(records, codec, level)
    changed = sent._replace(
        batch_length=HEADER_BYTES - LOG_OVERHEAD_BYTES + len(payload),
        attributes=codec | sent.attributes & TRANSACTIONAL_FLAG,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
    )
    return _stored(changed, payload)


def _stored(header: BatchHeader, payload: bytes | bytearray | memoryview) -> StoredBatch:
    covered = pack_header(*header)[CRC_START:] + bytes(payload)
    return StoredBatch(header._replace(crc=crc32c(covered)), covered)
