"""Record batches (message format v2) as bytes: read the header, check, stamp, decode records.

A batch is kept as the bytes received. A broker mostly needs only its header. `read_records`
decompresses and decodes single records for the few rules that need them. Layout: Kafka's
`DefaultRecordBatch`.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

from protocol.checksum import crc32c
from protocol.codec import read_unsigned_varint
from protocol.compression import ZSTD, TooLargeError, decompress_beginning, too_large

MAGIC = 2
MAGIC_AT = 16
"""Position of the magic byte, in this format and in the older ones."""
HEADER_BYTES = 61
LOG_OVERHEAD_BYTES = 12
"""Base offset and batch length, which `batch_length` does not count."""

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40
"""The base timestamp is when the tombstones of the batch, or its marker, may be removed."""
KNOWN_FLAGS = 0x7F
"""All of these: Kafka drops the others when it changes a batch."""
COMPRESSION_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

DECOMPRESSED_BYTES_MAX = 16 * 1024 * 1024
"""What one batch may take after decompression, unless its topic has another limit."""

RECORD_BYTES_MAX = (1 << 31) - 9
"""The largest size of a record: Java has no larger arrays."""

HEADER_FORMAT = "qiibIhiqqqhii"
"""The fields of a `BatchHeader`, for `struct`."""
_HEADER = Struct(f">{HEADER_FORMAT}")
pack_header = _HEADER.pack
"""Packs the fields of a `BatchHeader`."""
unpack_header = _HEADER.unpack_from
"""Returns the `HeaderFields` of the batch at a position of a buffer."""
_BASE_OFFSET = Struct(">q")
_STORED_HEADER = Struct(">qiibI")
pack_stored_header = _STORED_HEADER.pack
"""Packs base offset, batch length, leader epoch, magic and CRC."""
_LENGTH = Struct(">i")
_LEADER_EPOCH = Struct(">i")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_MAX_TIMESTAMP = Struct(">q")
CRC_POSITION = 17
CRC_START = 21
COPIED_BYTES_MAX = 4096
"""To copy fewer bytes takes less time than to make a memoryview."""
_DELTA = Struct(">i")
_DELTA_AT = 23
_MAX_TIMESTAMP_POSITION = 35


HeaderFields: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
"""The fields of a `BatchHeader` as a plain tuple, for the hot path."""


class BatchHeader(NamedTuple):
    """The fixed part of a batch, in the order of the bytes."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int


class Record(NamedTuple):
    """One record of a batch; `timestamp` in ms since the epoch."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def read_header(buffer: bytes | bytearray, start: int) -> BatchHeader:
    """Return the header of the batch at `start`; the buffer must have `HEADER_BYTES` from there."""
    return tuple.__new__(BatchHeader, _HEADER.unpack_from(buffer, start))  # faster than _make


def whole_batches(
    buffer: bytes | bytearray,
) -> Iterator[tuple[BatchHeader, int, int]]:
    """Yield the header of each batch of a buffer, and where the batch begins and ends.

    It ends before a batch that is not there to its end, as the last one in a response to Fetch, and
    before bytes that are no batch.
    """
    start = 0
    while len(buffer) - start >= HEADER_BYTES:
        header = read_header(buffer, start)
        end = start + LOG_OVERHEAD_BYTES + header.batch_length
        if end < start + HEADER_BYTES or end > len(buffer):
            return
        yield header, start, end
        start = end


def has_valid_crc(buffer: bytes | bytearray, start: int, end: int, crc: int) -> bool:
    """Return whether `crc` is the CRC-32C of all bytes after the CRC field."""
    return bool(crc32c(memoryview(buffer)[start + CRC_START : end]) == crc)


def stamp(
    buffer: bytes | bytearray, start: int, end: int, base_offset: int, leader_epoch: int
) -> bytes:
    """Return a copy with the broker's base offset and leader epoch, which the CRC excludes."""
    view = memoryview(buffer)
    return b"".join(
        (
            _BASE_OFFSET.pack(base_offset),
            view[start + 8 : start + 12],
            _LEADER_EPOCH.pack(leader_epoch),
            view[start + 16 : end],
        )
    )


def with_header(batch: bytes, header: BatchHeader) -> bytes:
    """Return a copy of a batch with the fields of a header; its length and CRC are computed."""
    changed = bytearray(batch)
    _HEADER.pack_into(changed, 0, *header)
    _LENGTH.pack_into(changed, 8, len(batch) - LOG_OVERHEAD_BYTES)
    _CRC.pack_into(changed, CRC_POSITION, crc32c(memoryview(changed)[CRC_START:]))
    return bytes(changed)


def stamp_log_append_time(batch: bytes, now_ms: int) -> bytes:
    """Return a copy of a stored batch with log append time and a new CRC."""
    stamped = bytearray(batch)
    (attributes,) = _ATTRIBUTES.unpack_from(stamped, CRC_START)
    _ATTRIBUTES.pack_into(stamped, CRC_START, attributes | LOG_APPEND_TIME_FLAG)
    _MAX_TIMESTAMP.pack_into(stamped, _MAX_TIMESTAMP_POSITION, now_ms)
    _CRC.pack_into(stamped, CRC_POSITION, crc32c(memoryview(stamped)[CRC_START:]))
    return bytes(stamped)


def sent_crc(batch: bytes, max_timestamp: int) -> int:
    """Return the CRC-32C that a stored batch had when sent with this `max_timestamp`.

    It is computed from the stored bytes, so it differs from the sent CRC if any of them changed.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(batch, CRC_START)
    if not attributes & LOG_APPEND_TIME_FLAG:
        return int(crc32c(memoryview(batch)[CRC_START:]))
    sent = bytearray(batch)
    _ATTRIBUTES.pack_into(sent, CRC_START, attributes & ~LOG_APPEND_TIME_FLAG)
    _MAX_TIMESTAMP.pack_into(sent, _MAX_TIMESTAMP_POSITION, max_timestamp)
    return int(crc32c(memoryview(sent)[CRC_START:]))


unpack_base_offset = _BASE_OFFSET.unpack_from
"""Returns a tuple of the base offset of a stored batch: a key for a binary search without calls."""


def batch_base_offset(batch: bytes) -> int:
    """Return the base offset of a stored batch."""
    return int(_BASE_OFFSET.unpack_from(batch, 0)[0])


def max_timestamp(batch: bytes) -> int:
    """Return the largest timestamp of a stored batch."""
    timestamp: int = _MAX_TIMESTAMP.unpack_from(batch, _MAX_TIMESTAMP_POSITION)[0]
    return timestamp


unpack_max_timestamp = Struct(f">{_MAX_TIMESTAMP_POSITION}xq").unpack_from
"""Returns a tuple of the largest timestamp of a stored batch, for a `map` over many."""


def last_offset(batch: bytes) -> int:
    """Return the offset of the last record of a stored batch."""
    return int(_BASE_OFFSET.unpack_from(batch, 0)[0] + _DELTA.unpack_from(batch, _DELTA_AT)[0])


class OversizedRecordError(ValueError):
    """A record of a compressed batch is larger than the limit of its topic."""


def read_records(
    batch: bytes | bytearray | memoryview,
    bytes_max: int = DECOMPRESSED_BYTES_MAX,
    record_bytes_max: int = RECORD_BYTES_MAX,
) -> Iterator[Record]:
    """Decompress a batch and decode it record by record, up to the first error.

    `record_bytes_max` is the largest size of a record in a compressed batch, without the field for
    the size itself (Kafka's `max.decompressed.message.bytes`).

    Raises:
        OversizedRecordError: a record announces more bytes than `record_bytes_max`.
        TooLargeError: the record ends behind the first `bytes_max` bytes after decompression. No
            more are decompressed.
        ValueError: the payload does not match the header.
    """
    try:
        beginning, is_all, is_compressed = _decompressed(bytes(batch), bytes_max)
        if is_all and (not is_compressed or record_bytes_max >= RECORD_BYTES_MAX):
            yield from map(_decoded, _decoder(beginning))
        else:
            end = ValueError("a record is cut off") if is_all else too_large(bytes_max)
            yield from _bounded_records(beginning, record_bytes_max, end, is_all=is_all)
    except (OversizedRecordError, TooLargeError):
        raise
    except Exception as error:  # each compression codec has its own errors
        raise ValueError(f"undecodable record batch: {error}") from error


def _decoder(batch: bytes) -> Any:
    # Not needed to start, and its package imports all codecs.
    from kafka.record.default_records import DefaultRecordBatch  # noqa: PLC0415

    return DefaultRecordBatch(batch)


def _bounded_records(
    batch: bytes, record_bytes_max: int, end: ValueError, *, is_all: bool
) -> Iterator[Record]:
    """Yield the records of the beginning of a decompressed batch; raise `end` where it ends.

    Raises:
        OversizedRecordError: a record announces more bytes than `record_bytes_max`.
    """
    decoder = _decoder(batch)
    position = HEADER_BYTES
    for _ in range(decoder.records_count):
        try:
            zigzag, position = read_unsigned_varint(batch, position)
        except IndexError:
            raise end from None
        size = (zigzag >> 1) ^ -(zigzag & 1)
        if size > record_bytes_max:
            raise OversizedRecordError(f"a record of {size} bytes, but at most {record_bytes_max}")
        position += size
        if position > len(batch):
            raise end
        yield _decoded(next(decoder))
    if not is_all:
        raise end
    yield from map(_decoded, decoder)  # refuses what is behind the last record


def _decoded(record: Any) -> Record:
    return Record(record.offset, record.timestamp, record.key, record.value, tuple(record.headers))


def _decompressed(batch: bytes, bytes_max: int) -> tuple[bytes, bool, bool]:
    """Return the batch without compression, whether that is all, and whether it was compressed.

    Its CRC is that of the compressed batch.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(batch, CRC_START)
    codec = attributes & COMPRESSION_MASK
    if not codec:
        return batch, True, False
    payload, is_all = decompress_beginning(batch[HEADER_BYTES:], codec, bytes_max)
    header = bytearray(batch[:HEADER_BYTES])
    _ATTRIBUTES.pack_into(header, CRC_START, attributes & ~COMPRESSION_MASK)
    _LENGTH.pack_into(header, 8, HEADER_BYTES - LOG_OVERHEAD_BYTES + len(payload))
    return b"".join((header, payload)), is_all, True


def is_zstd(batch: bytes) -> bool:
    """Return whether a stored batch is compressed with zstd."""
    return batch[CRC_START + 1] & COMPRESSION_MASK == ZSTD
