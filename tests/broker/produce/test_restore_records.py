"""Restored records have their offsets, and readers pass the offsets that are missing."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.failover import stop_broker
from broker.produce import restore_records as module
from broker.produce.restore_records import restore_records
from protocol.records import Record, last_offset, read_header, read_records
from tests.broker.cluster_builder import NOW_MS, make_cluster


@given(
    st.sets(st.integers(3, 60)),
    st.integers(0, 3),
    st.integers(0, 5),
    st.integers(1, 4),
    st.integers(0, 60),
    st.booleans(),
)
def test_every_offset_is_in_a_batch_and_every_record_at_its_offset(
    offsets: set[int],
    log_start_offset: int,
    more: int,
    batch_records_max: int,
    committed: int,
    is_committed: bool,
) -> None:
    cluster = make_cluster(2)
    topic = cluster.create_topic("orders", [(1, 2)], {"min.insync.replicas": "2"})
    (partition,) = topic.partitions
    records = [Record(offset, 7 + offset, b"k", b"v", (("h", None),)) for offset in sorted(offsets)]
    end = max(offsets, default=2) + 1 + more
    high_watermark = min(log_start_offset + committed, end)
    if not is_committed:
        stop_broker(cluster, 2, NOW_MS)
    with patch.object(module, "BATCH_RECORDS_MAX", batch_records_max):
        restore_records(
            cluster,
            topic,
            partition,
            records,
            log_start_offset=log_start_offset,
            high_watermark=high_watermark,
            log_end_offset=end,
            now_ms=NOW_MS,
        )
    log = partition.log
    assert (log.log_start_offset, log.log_end_offset) == (log_start_offset, end)
    assert log.high_watermark == (end if is_committed else high_watermark)
    read = log.read(log_start_offset, 10**9, at_least_one=False, end_offset=high_watermark)
    assert log_start_offset == high_watermark or last_offset(read[-1]) + 1 == high_watermark
    next_offset = log_start_offset
    found = []
    for batch in log.rewind():
        header = read_header(batch, 0)
        assert header.base_offset == next_offset
        next_offset = last_offset(batch) + 1
        decoded = list(read_records(batch))
        assert len(decoded) == header.records_count <= batch_records_max
        found += decoded
    assert next_offset == end
    assert found == records
    assert cluster.log_bytes == log.size_bytes
