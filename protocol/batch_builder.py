"""Build record batches (message format v2) for producers.

kafka-python writes and compresses the records. `stamp_producer` adds producer id, epoch and
sequence when the batch is sent.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Any

from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder

from protocol.records import (
    COMPRESSION_NAMES,
    CRC_POSITION,
    CRC_START,
    HEADER_BYTES,
    MAGIC,
    TRANSACTIONAL_FLAG,
)

Headers = Sequence[tuple[str, bytes | None]]

_CRC = Struct(">I")
_PRODUCER = Struct(">qhi")
_PRODUCER_POSITION = 43
_ATTRIBUTES_LOW_POSITION = 22
_NO_ID = -1


class BatchBuilder:
    """One open batch; it accepts any first record, and more up to `bytes_max`."""

    __slots__ = ("_builder", "record_count")

    def __init__(self, compression: str, bytes_max: int) -> None:
        """`compression` is one of `COMPRESSION_NAMES`; `bytes_max` counts uncompressed bytes."""
        self._builder: Any = DefaultRecordBatchBuilder(
            magic=MAGIC,
            compression_type=COMPRESSION_NAMES.index(compression),
            is_transactional=False,
            producer_id=_NO_ID,
            producer_epoch=_NO_ID,
            base_sequence=_NO_ID,
            batch_size=bytes_max,
        )
        self.record_count = 0

    @property
    def size_bytes(self) -> int:
        """Size before compression, with the header."""
        size: int = self._builder.size()
        return size

    def append(
        self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers
    ) -> bool:
        """Add a record; return False if there is no room for it."""
        added = self._builder.append(self.record_count, timestamp_ms, key, value, headers)
        if added is None:
            return False
        self.record_count += 1
        return True

    def build(self) -> bytes:
        """Return the batch, compressed if that makes it smaller; call it once."""
        return bytes(self._builder.build())


def record_bytes_max(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Return the maximum size of a record in a batch, without the batch header."""
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
