"""Offsets without records."""

from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.offset_gap import leave_gap
from protocol.records import read_header
from tests.broker.cluster.replicated_log import append, ends, replicated, values_of
from tests.broker.cluster_builder import NOW_MS


@given(st.lists(st.integers(0, 4), max_size=8))
def test_records_come_behind_the_offsets_that_have_none(counts: list[int]) -> None:
    cluster, topic, partition = replicated()
    expected, offset = [], 0
    for count in counts:
        if count:
            leave_gap(cluster, topic, partition, count, NOW_MS)
        offset += count
        append(cluster, b"v")
        expected.append(offset)
        offset += 1
    log = partition.log
    assert ends(partition) == (offset, offset)
    assert values_of(partition) == [b"v"] * len(counts)
    for fetch_offset in range(offset):
        (found,) = log.read(fetch_offset, 0, at_least_one=True)
        header = read_header(found, 0)
        assert header.base_offset + header.last_offset_delta >= fetch_offset
    batches = [read_header(batch, 0) for batch in log.rewind()]
    assert [found.base_offset for found in batches if found.records_count] == expected
    assert cluster.log_bytes == log.size_bytes
