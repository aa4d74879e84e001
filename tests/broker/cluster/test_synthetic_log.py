"""A synthetic log against one long read of it, from any offset and in any order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster import synthetic_log as module
from broker.cluster.changed_offsets import LogCut
from broker.config.synthetic_keys import ENDLESS, TIMESTAMP_MS
from protocol.records import batch_base_offset, has_valid_crc, last_offset, read_header
from tests.broker.cluster.synthetic_topic import read_all, synthetic_log

KEYS = ["null", "counter", "uniform(50)", "zipf(50,1.1)"]
CODECS = ["none", "gzip", "lz4"]
SPAN = 60


@given(
    start=st.sampled_from([0, 3, 1000, ENDLESS - SPAN]),
    batch_records=st.integers(1, 17),
    key=st.sampled_from(KEYS),
    codec=st.sampled_from(CODECS),
    partition_index=st.integers(0, 3),
    fetches=st.lists(
        st.tuples(st.integers(0, SPAN + 1), st.integers(0, 3000), st.booleans()), max_size=12
    ),
)
def test_any_fetches_return_parts_of_one_long_read(
    start: int,
    batch_records: int,
    key: str,
    codec: str,
    partition_index: int,
    fetches: list[tuple[int, int, bool]],
) -> None:
    end = start + SPAN
    settings: dict[str, Any] = {
        "batch_records": batch_records,
        "key": key,
        "compression_type": codec,
        "value_size": "uniform(1,40)",
        "log_start_offset": start,
        "log_end_offset": end,
        "distinct_batches": 3,
    }
    everything = synthetic_log(partition_index, **settings).read(start, 1 << 30, at_least_one=True)
    assert last_offset(everything[-1]) + 1 == end
    assert batch_base_offset(everything[0]) <= start
    for batch in everything:
        assert has_valid_crc(batch, 0, len(batch), read_header(batch, 0).crc)
        assert batch_base_offset(batch) % batch_records == 0
    log = synthetic_log(partition_index, **settings)
    for distance, bytes_max, at_least_one in fetches:
        offset = start + distance
        # What a log that stores all batches returns.
        expected: list[bytes] = []
        left = bytes_max
        for batch in everything:
            if last_offset(batch) < offset:
                continue
            left -= len(batch)
            if left < 0 and (expected or not at_least_one):
                break
            expected.append(batch)
        if offset >= end:
            expected = []
        assert log.read(offset, bytes_max, at_least_one=at_least_one) == expected
        rest = [batch for batch in everything if last_offset(batch) >= offset and offset < end]
        assert log.readable_bytes(offset, bytes_max) == min(bytes_max, sum(map(len, rest)))


def test_a_record_is_the_same_whether_the_log_ends_behind_it_or_not() -> None:
    settings: dict[str, Any] = {
        "batch_records": 10,
        "key": "zipf(1000,1)",
        "value_size": "uniform(1,9)",
    }
    endless = read_all(synthetic_log(**settings), 0, 57)
    assert read_all(synthetic_log(log_end_offset=57, **settings), 0, 57) == endless


def test_the_end_of_an_endless_log() -> None:
    log = synthetic_log(batch_records=100)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, ENDLESS, ENDLESS)
    batches = log.read(ENDLESS - 1, 1 << 20, at_least_one=True)
    assert [last_offset(batch) for batch in batches] == [ENDLESS - 1]
    assert log.read(ENDLESS, 1 << 20, at_least_one=True) == []
    assert log.base_offset_at(ENDLESS) == ENDLESS
    assert log.base_offset_at(ENDLESS - 1) == batch_base_offset(batches[0])


def test_nothing_is_kept_of_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    log = synthetic_log(batch_records=1, value_size=0)
    monkeypatch.setattr(module, "SHORT_BATCHES_MAX", 5)
    assert len(log.read_short(0, 1 << 20, at_least_one=True)) == 6
    runs = list(log.read_runs(0, 10_000, at_least_one=True, end_offset=20))
    assert [batch_base_offset(batch) for run in runs for batch in run] == list(range(6))
    assert (log.batch_count, log.size_bytes, log.segment_bytes) == (0, 0, 0)
    assert list(log.rewind()) == []
    assert log.oldest_timestamp is None


def test_a_marker_is_dropped() -> None:
    log = synthetic_log(log_end_offset=10)
    log.append(b"marker", 1, 3)
    assert (log.log_end_offset, log.high_watermark, log.size_bytes) == (10, 10, 0)
    assert log.epoch_of(5) == 0


def test_the_start_moves_in_one_step() -> None:
    log = synthetic_log(log_start_offset=5, batch_records=10)
    assert log.steps_to(1 << 61, 100) == [1 << 61]
    log.advance_start(1 << 61)
    log.advance_start(7)
    assert log.log_start_offset == 1 << 61
    log.begin_at(1 << 63)
    assert log.log_start_offset == log.log_end_offset


def test_a_replica_with_nothing_that_leads_ends_the_log() -> None:
    log = synthetic_log(log_start_offset=5, log_end_offset=50)
    assert log.truncate(LogCut(0, 50, 0, False)) == []
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, 0, 0)
    assert log.read(0, 100, at_least_one=True) == []


def test_batches_by_time() -> None:
    log = synthetic_log(batch_records=10, log_end_offset=95, records_per_second=100)
    (found,) = log.batches_from_timestamp(TIMESTAMP_MS + 205)
    assert batch_base_offset(found) == 20
    assert list(log.batches_from_timestamp(TIMESTAMP_MS + 941)) == []
    (found,) = log.batches_from_timestamp(0)
    assert batch_base_offset(found) == 0
    (found,) = log.batches_from_timestamp(0, 40)
    assert batch_base_offset(found) == 40
    latest = log.batch_with_max_timestamp()
    assert latest is not None
    assert batch_base_offset(latest) == 90


def test_the_latest_is_the_first_batch_with_the_largest_time() -> None:
    log = synthetic_log(batch_records=2, log_end_offset=2000, records_per_second=1_000_000)
    latest = log.batch_with_max_timestamp()
    assert latest is not None
    assert batch_base_offset(latest) == 1000
    assert synthetic_log(log_end_offset=0).batch_with_max_timestamp() is None
