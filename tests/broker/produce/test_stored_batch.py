"""A batch that is stored in another form is one that a producer could have sent."""

from broker.produce.stored_batch import rebuilt, with_max_timestamp
from protocol.records import (
    CRC_START,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
    has_valid_crc,
    read_header,
    read_records,
)
from tests.batches import NOW_MS, altered, make_batch


def test_a_changed_timestamp_keeps_the_flags_that_kafka_knows() -> None:
    flags = 0x40 | TRANSACTIONAL_FLAG
    batch = altered(make_batch(b"a"), 21, ">h", 0x1180 | flags | LOG_APPEND_TIME_FLAG)
    stored = with_max_timestamp(read_header(batch, 0), memoryview(batch)[CRC_START:], NOW_MS + 9)
    data = stored.data()
    assert stored.header.attributes == flags
    assert stored.size_bytes == len(data) == len(batch)
    assert read_header(data, 0) == stored.header
    assert has_valid_crc(data, 0, len(data), stored.header.crc)
    assert stored.header.max_timestamp == NOW_MS + 9


def test_a_rebuilt_batch_has_the_sequence_of_its_producer() -> None:
    batch = make_batch(b"a", b"b", producer_id=3, producer_epoch=1, base_sequence=8)
    header = read_header(batch, 0)
    stored = rebuilt(header, batch[HEADER_BYTES:], 4, 1, NOW_MS, NOW_MS)
    data = stored.data()
    assert read_header(data, 0)[9:] == header[9:]
    assert list(read_records(data)) == list(read_records(batch))
