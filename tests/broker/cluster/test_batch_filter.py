"""A batch with fewer records has what readers and producers need of the others."""

import pytest

from broker.cluster.batch_filter import delete_horizon_ms, emptied, free_in_steps, rewritten
from protocol.batch_builder import BatchBuilder, stamp_producer
from protocol.records import Record, has_valid_crc, read_header, read_records, stamp


def stored_batch(compression: str = "none") -> tuple[bytes, list[Record]]:
    """Return a transactional batch at offset 100, and its records."""
    builder = BatchBuilder(compression, 1 << 20)
    for number in range(4):
        builder.append(1000 * (4 - number), b"key", b"v" * 100, (("h", b"%d" % number),))
    batch = stamp_producer(builder.build(), 7, 2, 40, is_transactional=True)
    batch = stamp(batch, 0, len(batch), 100, 9)
    return batch, list(read_records(batch))


def finished(batch: bytes, records: list[Record], horizon_ms: int | None = None) -> bytes:
    steps = rewritten(batch, records, horizon_ms)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: bytes = end.value
            return result


@pytest.mark.parametrize("compression", ["none", "gzip", "lz4", "snappy", "zstd"])
@pytest.mark.parametrize("horizon_ms", [None, 5_000_000])
def test_what_is_left_reads_as_before(compression: str, horizon_ms: int | None) -> None:
    batch, records = stored_batch(compression)
    left = finished(batch, records[1:3], horizon_ms)
    before, after = read_header(batch, 0), read_header(left, 0)
    assert list(read_records(left)) == records[1:3]
    assert has_valid_crc(left, 0, len(left), after.crc)
    assert after.batch_length == len(left) - 12
    assert (after.max_timestamp, after.records_count) == (3000, 2)
    assert delete_horizon_ms(after) == horizon_ms
    positions = ("base_offset", "last_offset_delta", "partition_leader_epoch")
    for name in (*positions, "producer_id", "producer_epoch", "base_sequence"):
        assert getattr(after, name) == getattr(before, name)
    assert after.attributes & ~0x40 == before.attributes
    assert delete_horizon_ms(read_header(finished(left, records[1:2]), 0)) == horizon_ms


def test_large_headers_stay() -> None:
    builder = BatchBuilder("none", 1 << 20)
    for _ in range(5):
        builder.append(1000, b"key", b"v", (("h", b"x" * 1000),))
    batch = builder.build()
    records = list(read_records(batch))
    left = finished(batch, records)
    assert read_header(left, 0).records_count == 5
    assert list(read_records(left)) == records


def test_an_emptied_batch_keeps_its_header() -> None:
    batch, _records = stored_batch("gzip")
    before, empty = read_header(batch, 0), emptied(batch)
    header = read_header(empty, 0)
    assert has_valid_crc(empty, 0, len(empty), header.crc)
    assert len(empty) == 61
    assert list(read_records(empty)) == []
    assert header == before._replace(
        batch_length=49, crc=header.crc, attributes=0x10, base_timestamp=-1, records_count=0
    )


def test_batches_are_freed_in_steps() -> None:
    batches = [b"1"] * 25
    left = [len(batches) for _ in free_in_steps(batches, 10)]
    assert (left, batches) == ([15, 5], [])
