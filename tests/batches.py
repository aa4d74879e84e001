"""Record batches for tests, built with kafka-python's own builder and then, if wanted, damaged."""

from struct import pack, pack_into
from typing import Any

from kafka.record.default_records import DefaultRecordBatchBuilder

from protocol.checksum import crc32c
from protocol.records import HEADER_BYTES, LOG_OVERHEAD_BYTES

NOW_MS = 1_700_000_000_000
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def make_batch(
    *values: bytes | None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    key: bytes | None = b"k",
    timestamps: list[int] | None = None,
    codec: str = "none",
    is_transactional: bool = False,
) -> bytes:
    """One batch as a producer sends it: base offset 0, CRC right."""
    builder: Any = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=CODECS[codec],
        is_transactional=is_transactional,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        batch_size=10_000_000,
    )
    times = timestamps or [NOW_MS] * len(values)
    for index, (value, timestamp) in enumerate(zip(values, times, strict=True)):
        builder.append(index, timestamp=timestamp, key=key, value=value, headers=[])
    return bytes(builder.build())


def filled_batch(
    base_offset: int,
    offset_count: int = 1,
    max_timestamp: int = 0,
    size_bytes: int = HEADER_BYTES,
    filler: int = 0,
) -> bytes:
    """A stored batch of any size: a header, or what fits of it, and a byte again and again."""
    size = size_bytes - LOG_OVERHEAD_BYTES
    offsets = offset_count - 1, max_timestamp, max_timestamp
    header = pack(
        ">qiibIhiqqqhii", base_offset, size, 0, 2, 0, 0, *offsets, -1, -1, -1, offset_count
    )
    return (header + bytes([filler]) * size_bytes)[:size_bytes]


def altered(batch: bytes, position: int, layout: str, value: int, *, fix_crc: bool = True) -> bytes:
    """The batch with one header field overwritten, and its CRC made right again or not."""
    changed = bytearray(batch)
    pack_into(layout, changed, position, value)
    if fix_crc:
        pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    return bytes(changed)
