"""Batches in the records of a Fetch response."""

from struct import Struct

from loadgen.clients.fetch_responses import NO_TOPIC_ID, batches_of, fetch_request, next_offset
from loadgen.clients.produce_frames import record_batch


def stored(base_offset: int, records: int) -> bytes:
    batch, _ = record_batch(records, 10, 0)
    return Struct(">q").pack(base_offset) + batch[8:]


def test_complete_batches_are_returned_and_a_truncated_one_is_not() -> None:
    records = stored(5, 3) + stored(8, 1) + stored(9, 2)[:-1]
    assert [header.base_offset for header, _ in batches_of(records)] == [5, 8]
    assert [data for _, data in batches_of(records)] == [stored(5, 3), stored(8, 1)]
    assert next_offset(records, 0) == 9


def test_empty_records_have_no_batches() -> None:
    for records in (None, b"", b"x" * 60):
        assert list(batches_of(records)) == []
        assert next_offset(records, 4) == 4


def test_a_request_names_each_partition_with_its_offset() -> None:
    request = fetch_request("t", NO_TOPIC_ID, {1: 10, 2: 20})
    [topic] = request.topics
    assert [(partition.partition, partition.fetch_offset) for partition in topic.partitions] == [
        (1, 10),
        (2, 20),
    ]
