"""The encoded requests are valid by Kafka's schema and record format."""

import pytest

from benchmarks.request_bytes import produce_requests, record_batch
from protocol import produce_decoder, records
from protocol.codec import decode_header, skip_tagged_fields
from protocol.framing import FrameReader


def _batches(requests_bytes: bytes) -> list[tuple[int, records.BatchHeader, bool]]:
    reader = FrameReader(1 << 20)
    reader.feed(requests_bytes)
    found = []
    while (frame := reader.next_frame()) is not None:
        buffer, start, end = frame
        header = decode_header(buffer, start, end)
        body_start = skip_tagged_fields(buffer, header.end, end)
        request = produce_decoder.decode_request(header.api_version, buffer, body_start, end)
        assert request.acks == -1
        (topic,) = request.topics
        (partition,) = topic.partitions
        assert (topic.name, partition.partition_index) == ("orders", 0)
        batch = records.read_header(buffer, partition.start)
        has_valid_crc = records.has_valid_crc(buffer, partition.start, partition.end, batch.crc)
        found.append((header.correlation_id, batch, has_valid_crc))
    return found


@pytest.mark.parametrize(("producer_id", "sequences"), [(-1, [-1, -1, -1]), (7, [0, 1, 2])])
def test_each_request_has_its_own_valid_batch(producer_id: int, sequences: list[int]) -> None:
    requests = produce_requests("orders", 3, producer_id=producer_id, producer_epoch=0)

    found = _batches(bytes(requests.run(0, 3)))

    assert [correlation_id for correlation_id, _, _ in found] == [0, 1, 2]
    assert [batch.base_sequence for _, batch, _ in found] == sequences
    assert {batch.producer_id for _, batch, _ in found} == {producer_id}
    assert all(has_valid_crc for _, _, has_valid_crc in found)


def test_run_returns_a_slice_of_complete_requests() -> None:
    requests = produce_requests("orders", 5)

    found = _batches(bytes(requests.run(2, 4)))

    assert [correlation_id for correlation_id, _, _ in found] == [2, 3]


def test_a_record_has_a_value_of_a_hundred_bytes() -> None:
    (record,) = records.read_records(record_batch(-1, -1, -1))

    assert record.value is not None
    assert len(record.value) == 100
