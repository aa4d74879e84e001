"""Record batches for tests, built with kafka-python's own builder and then, if wanted, damaged."""

from struct import pack_into
from typing import Any

from kafka.record.default_records import DefaultRecordBatchBuilder

from protocol.checksum import crc32c

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


def altered(batch: bytes, position: int, layout: str, value: int, *, fix_crc: bool = True) -> bytes:
    """The batch with one header field overwritten, and its CRC made right again or not."""
    changed = bytearray(batch)
    pack_into(layout, changed, position, value)
    if fix_crc:
        pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    return bytes(changed)
