"""Restored records have their offsets, and readers pass the offsets that are missing."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from broker.produce import restore_records as module
from broker.produce.restore_records import restore_records
from protocol.records import Record, last_offset, read_header, read_records
from tests.broker.cluster_builder import NOW_MS, make_cluster


@given(st.sets(st.integers(3, 60)), st.integers(0, 3), st.integers(0, 5), st.integers(1, 4))
def test_every_offset_is_in_a_batch_and_every_record_at_its_offset(
    offsets: set[int], log_start_offset: int, more: int, batch_records_max: int
) -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("orders", [(1,)], {})
    (partition,) = topic.partitions
    records = [Record(offset, 7 + offset, b"k", b"v", (("h", None),)) for offset in sorted(offsets)]
    end = max(offsets, default=2) + 1 + more
    with patch.object(module, "BATCH_RECORDS_MAX", batch_records_max):
        restore_records(
            cluster,
            topic,
            partition,
            records,
            log_start_offset=log_start_offset,
            log_end_offset=end,
            now_ms=NOW_MS,
        )
    log = partition.log
    assert (log.log_start_offset, log.log_end_offset) == (log_start_offset, end)
    next_offset = log_start_offset
    found = []
    for batch in log.rewind():
        header = read_header(batch, 0)
        assert header.base_offset == next_offset
        next_offset = last_offset(batch) + 1
        read = list(read_records(batch))
        assert len(read) == header.records_count <= batch_records_max
        found += read
    assert next_offset == end
    assert found == records
    assert cluster.log_bytes == log.size_bytes
