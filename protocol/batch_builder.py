"""Build record batches (message format v2) for producers.

kafka-python writes and compresses the records. `stamp_producer` adds producer id, epoch and
sequence when the batch is sent.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Any

from protocol.checksum import crc32c
from protocol.records import (
    COMPRESSION_NAMES,
    CRC_POSITION,
    CRC_START,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL_FLAG,
)

Headers = Sequence[tuple[str, bytes | None]]

_CRC = Struct(">I")
_PRODUCER = Struct(">qhi")
_PRODUCER_POSITION = 43
_ATTRIBUTES_LOW_POSITION = 22
_NO_ID = -1
_NO_TIMESTAMP = -1
_NO_PRODUCER = (_NO_ID, _NO_ID)
_UP_TO_CRC = Struct(">qiibI")
_FROM_ATTRIBUTES = Struct(">hiqqqhii")
pack_from_attributes = _FROM_ATTRIBUTES.pack
"""Packs the fields of a `BatchHeader` behind the CRC."""
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_TIME_AT = HEADER_BYTES + 4
_NO_HEADERS = b"\0"
_NULL_AND_NO_HEADERS = b"\1\0"
"""The length -1 of a value that is null, and the number of headers."""


class BatchBuilder:
    """One open batch; it accepts any first record, and more up to `bytes_max`."""

    __slots__ = ("_builder", "record_count")

    def __init__(
        self, compression: str, bytes_max: int, base_timestamp_ms: int | None = None
    ) -> None:
        """`compression` is one of `COMPRESSION_NAMES`; `bytes_max` counts uncompressed bytes.

        `base_timestamp_ms` is what timestamps are relative to, by default that of the first record.
        """
        # Not needed to start, and its package imports all codecs.
        from kafka.record.default_records import DefaultRecordBatchBuilder  # noqa: PLC0415

        self._builder: Any = DefaultRecordBatchBuilder(
            magic=MAGIC,
            compression_type=COMPRESSION_NAMES.index(compression),
            is_transactional=False,
            producer_id=_NO_ID,
            producer_epoch=_NO_ID,
            base_sequence=_NO_ID,
            batch_size=bytes_max,
        )
        if base_timestamp_ms is not None:
            self._builder._first_timestamp = base_timestamp_ms
            self._builder._max_timestamp = _NO_TIMESTAMP
        self.record_count = 0

    @property
    def size_bytes(self) -> int:
        """Size before compression, with the header."""
        size: int = self._builder.size()
        return size

    def append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        offset_delta: int | None = None,
    ) -> bool:
        """Add a record; return False if there is no room for it.

        `offset_delta` is its distance from the base offset, by default that of the record before
        plus one.
        """
        delta = self.record_count if offset_delta is None else offset_delta
        added = self._builder.append(delta, timestamp_ms, key, value, headers)
        if added is None:
            return False
        self.record_count += 1
        return True

    def build(self) -> bytes:
        """Return the batch, compressed if that makes it smaller; call it once."""
        # Not `builder.build()`: its checksum is in Python, without a package that we do not need.
        builder = self._builder
        is_compressed = builder._maybe_compress()
        buffer: bytearray = builder._buffer
        if is_compressed and buffer.startswith(_GZIP_MAGIC, HEADER_BYTES):
            buffer[_GZIP_TIME_AT : _GZIP_TIME_AT + 4] = bytes(4)  # that of the machine
        _FROM_ATTRIBUTES.pack_into(
            buffer,
            CRC_START,
            builder._get_attributes(is_compressed),
            builder._last_offset,
            builder._first_timestamp or 0,
            builder._max_timestamp or 0,
            *_NO_PRODUCER,
            _NO_ID,
            self.record_count,
        )
        return _with_crc(memoryview(buffer)[CRC_START:], 0, 0)


def record_bytes_max(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Return the maximum size of a record in a batch, without the batch header."""
    from kafka.record.default_records import DefaultRecordBatchBuilder  # noqa: PLC0415

    size: int = DefaultRecordBatchBuilder.estimate_size_in_bytes(key, value, headers)
    return size - HEADER_BYTES


def stamp_producer(
    batch: bytes,
    producer_id: int,
    epoch: int,
    base_sequence: int,
    *,
    is_transactional: bool = False,
) -> bytes:
    """Return a copy of a batch with this producer id, epoch and base sequence, and a new CRC."""
    stamped = bytearray(batch)
    if is_transactional:
        stamped[_ATTRIBUTES_LOW_POSITION] |= TRANSACTIONAL_FLAG
    _PRODUCER.pack_into(stamped, _PRODUCER_POSITION, producer_id, epoch, base_sequence)
    _CRC.pack_into(stamped, CRC_POSITION, crc32c(memoryview(stamped)[CRC_START:]))
    return bytes(stamped)


def uncompressed_batch(
    records: Sequence[tuple[bytes, bytes | None]],
    base_offset: int,
    leader_epoch: int,
    timestamp_ms: int,
    producer: tuple[int, int] | None = None,
    base_sequence: int = _NO_ID,
) -> bytes:
    """Return a batch of keys and values that all have the same timestamp, and no headers.

    With a producer id and epoch it is a batch of their transaction.
    A coordinator writes one for every change, so this is several times as fast as `BatchBuilder`.
    """
    varints, parts = VARINTS, [b""]  # the first one is for the header
    for offset_delta, (key, value) in enumerate(records):
        body = b"\0\0" + varints[offset_delta] + varints[len(key)] + key
        if value is None:
            body += _NULL_AND_NO_HEADERS
        else:
            body += varints[len(value)] + value + _NO_HEADERS
        parts += (varints[len(body)], body)
    count = len(records)
    if producer is None:
        attributes, producer_id, producer_epoch = 0, _NO_ID, _NO_ID
    else:
        attributes, (producer_id, producer_epoch) = TRANSACTIONAL_FLAG, producer
    # fmt: off
    parts[0] = _FROM_ATTRIBUTES.pack(
        attributes, count - 1, timestamp_ms, timestamp_ms, producer_id, producer_epoch,
        base_sequence, count,
    )
    # fmt: on
    return _with_crc(b"".join(parts), base_offset, leader_epoch)


def empty_batch(offset_count: int, base_offset: int, leader_epoch: int, timestamp_ms: int) -> bytes:
    """Return a batch without records that takes this many offsets, as compaction leaves it."""
    fields = (0, offset_count - 1, timestamp_ms, timestamp_ms, *_NO_PRODUCER, _NO_ID, 0)
    return _with_crc(_FROM_ATTRIBUTES.pack(*fields), base_offset, leader_epoch)


def _with_crc(checked: bytes | memoryview, base_offset: int, leader_epoch: int) -> bytes:
    """Return a batch from its attributes on with the fields before them."""
    batch_length = len(checked) + CRC_START - LOG_OVERHEAD_BYTES
    before = _UP_TO_CRC.pack(base_offset, batch_length, leader_epoch, MAGIC, crc32c(checked))
    return before + checked


class _Varints(dict[int, bytes]):
    """Numbers from 0 on as varints with zigzag encoding; the small ones are remembered."""

    def __missing__(self, number: int) -> bytes:
        out = bytearray()
        left = number << 1
        while left > 0x7F:
            out.append(left & 0x7F | 0x80)
            left >>= 7
        out.append(left)
        return bytes(out)


VARINTS = _Varints()
"""Numbers from 0 on as varints with zigzag encoding."""
VARINTS.update((number, VARINTS[number]) for number in range(1024))
