"""The log cleaner keeps the last record of each key, and changes nothing it may not."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.cluster.brokers import Availability
from protocol.records import COMPRESSION_MASK, DELETE_HORIZON_FLAG, Record, read_header
from tests.broker.cluster.cleaned_topic import (
    BACKOFF_MS,
    CONFIG,
    FILL,
    HOUR_MS,
    CleanedTopic,
    Pair,
)
from tests.broker.cluster_builder import NOW_MS
from tests.examples import examples


def test_the_last_record_of_each_key_stays_at_its_offset() -> None:
    topic = CleanedTopic()
    topic.append((b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    topic.append((b"a", b"3"), (b"c", b"1"))
    topic.fill()
    before = topic.seen()
    topic.advance(BACKOFF_MS - 1)
    assert topic.seen() == before
    topic.advance(1)
    assert topic.seen() == [(1, b"b"), (3, b"a"), (4, b"c")]
    log = topic.partition.log
    assert (log.log_start_offset, log.log_end_offset) == (0, 8)
    assert log.size_bytes == sum(map(len, topic.batches())) == topic.cluster.log_bytes
    assert log.segment_bytes == log.size_bytes
    first = topic.records()[0]
    assert (first.timestamp, first.value, first.headers) == (NOW_MS, b"1", (("h", b"v"),))


def test_tombstones_stay_until_their_delete_horizon() -> None:
    topic = CleanedTopic(**{"delete.retention.ms": str(HOUR_MS)})
    topic.append((b"a", b"1"), (b"b", b"1"))
    topic.append((b"a", None))
    topic.fill()
    topic.advance()
    assert topic.seen() == [(1, b"b"), (2, b"a")]
    horizon = read_header(topic.batches()[1], 0)
    assert horizon.attributes & DELETE_HORIZON_FLAG
    assert horizon.base_timestamp == NOW_MS + BACKOFF_MS + HOUR_MS
    assert horizon.max_timestamp == topic.records()[1].timestamp == NOW_MS

    topic.fill()
    topic.advance(HOUR_MS - 1)
    assert (2, b"a") in topic.seen()
    topic.fill()
    topic.advance(BACKOFF_MS)
    assert topic.seen() == [(1, b"b")]


@pytest.mark.parametrize("compression", ["gzip", "lz4", "zstd", "snappy"])
def test_compressed_batches_are_compressed_again(compression: str) -> None:
    topic = CleanedTopic()
    value = b"1" * 1000
    topic.append((b"a", value), (b"b", value), (b"a", value), compression=compression)
    before = topic.batches()[0][22] & COMPRESSION_MASK
    topic.fill()
    topic.advance()
    assert topic.seen() == [(1, b"b"), (2, b"a")]
    assert topic.batches()[0][22] & COMPRESSION_MASK == before > 0
    assert topic.records()[0].value == value


def test_the_time_of_an_append_stays() -> None:
    topic = CleanedTopic()
    topic.append((b"a", b"1"), (b"b", None), (b"a", b"2"), timestamp=5, is_log_append_time=True)
    topic.fill()
    topic.advance()
    assert topic.seen() == [(1, b"b"), (2, b"a")]
    assert [record.timestamp for record in topic.records()[:2]] == [NOW_MS, NOW_MS]


def test_the_last_batch_of_a_producer_stays_without_records() -> None:
    topic = CleanedTopic()
    topic.append((b"a", b"1"), producer=(7, 0, 0))
    topic.append((b"a", b"2"), (b"a", b"3"), producer=(7, 0, 1))
    topic.append((b"a", b"4"))
    topic.fill()
    topic.advance()
    assert topic.seen() == [(3, b"a")]
    header = read_header(topic.batches()[0], 0)
    assert (header.base_offset, header.last_offset_delta, header.records_count) == (1, 1, 0)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 0, 1)
    topic.append((b"a", b"5"), producer=(7, 0, 3))
    topic.fill()
    topic.advance()
    assert [read_header(batch, 0).producer_id for batch in topic.batches()].count(7) == 1


def test_records_of_an_aborted_transaction_go_before_its_marker() -> None:
    topic = CleanedTopic(**{"delete.retention.ms": str(HOUR_MS)})
    topic.append((b"a", b"1"))
    topic.append((b"a", b"2"), producer=(7, 0, 0), is_transactional=True)
    topic.append((b"b", b"2"), producer=(7, 0, 1), is_transactional=True)
    topic.end_transaction(7, is_commit=False)
    # The producer goes on, so that no batch is kept for it.
    topic.append((b"c", b"1"), producer=(7, 0, 2), is_transactional=True)
    topic.end_transaction(7, is_commit=True)
    topic.fill()
    log = topic.partition.log
    topic.advance()
    assert topic.seen() == [(0, b"a"), (4, b"c")]
    offsets = [read_header(batch, 0).base_offset for batch in topic.batches()]
    assert offsets[:4] == [0, 3, 4, 5]
    assert len(log.transaction_index) == 1  # its batches were there until now

    topic.fill()
    topic.advance()
    assert len(log.transaction_index) == 0
    marker = read_header(topic.batches()[1], 0)
    assert marker.attributes & DELETE_HORIZON_FLAG
    topic.advance(HOUR_MS)
    topic.fill()
    topic.advance()
    assert [read_header(batch, 0).base_offset for batch in topic.batches()][:3] == [0, 4, 5]


def test_records_without_a_key_go() -> None:
    topic = CleanedTopic()
    topic.append((None, b"1"), (b"a", b"1"))
    topic.fill()
    topic.advance()
    assert topic.seen() == [(1, b"a")]


def test_a_damaged_batch_stays_as_it_is() -> None:
    topic = CleanedTopic()
    topic.append((b"a", b"1"))
    damaged = topic.batches()[0][:61] + b"\x7f" * 20
    topic.store(damaged, 1)
    topic.append((b"a", b"2"))
    topic.fill()
    topic.advance()
    assert [read_header(batch, 0).base_offset for batch in topic.batches()][:2] == [1, 2]


def test_a_record_above_the_limit_of_its_topic_stops_the_cleaner_until_the_leader_restarts() -> (
    None
):
    config = CONFIG | {"cleanup.policy": "compact,delete"}
    topic = CleanedTopic(**{"cleanup.policy": "compact,delete"})
    topic.append((b"a", b"1" * 100), compression="gzip")
    topic.append((b"a", b"2"))
    topic.fill()

    limited = config | {"max.decompressed.message.bytes": "50"}
    topic.cluster.alter_topic_config(topic.topic, limited)
    topic.advance()
    assert topic.seen() == [(0, b"a"), (1, b"a")]

    old = {"max.compaction.lag.ms": "1", "retention.ms": "1"}
    topic.cluster.alter_topic_config(topic.topic, config | old)
    topic.advance()
    assert topic.seen() == [(0, b"a"), (1, b"a")]

    broker = topic.cluster.brokers[1]
    topic.cluster.set_availability(broker, Availability.ISOLATED)
    topic.cluster.set_availability(broker, Availability.UP)
    topic.advance()
    assert topic.seen() == [(0, b"a"), (1, b"a")]

    topic.cluster.alter_topic_config(topic.topic, config)
    topic.cluster.set_availability(broker, Availability.DOWN)
    topic.cluster.set_availability(broker, Availability.UP)
    topic.advance()
    assert topic.seen() == [(1, b"a")]


def test_a_record_above_the_limit_that_was_cleaned_before_stops_no_cleaning() -> None:
    topic = CleanedTopic()
    topic.append((b"a", b"1" * 100), compression="gzip")
    topic.fill()
    topic.advance()

    limited = CONFIG | {"max.decompressed.message.bytes": "50"}
    topic.cluster.alter_topic_config(topic.topic, limited)
    topic.append((b"a", b"2"))
    topic.fill()
    topic.advance()

    assert topic.seen() == [(4, b"a")]


def test_deleted_records_in_the_middle_of_a_cleaning_stop_it() -> None:
    topic = CleanedTopic()
    for number in range(600):
        topic.append((b"a", b"%d" % number))
    topic.fill()
    timers = topic.cluster.timers
    timers.run_due(NOW_MS + BACKOFF_MS)  # the first step
    log = topic.partition.log
    log.advance_start(5, topic.topic.segment_settings)
    topic.advance(BACKOFF_MS + 100)
    assert log.batch_count == 598
    topic.advance()
    topic.advance(100)
    assert log.batch_count == 4
    assert log.segment_bytes == log.size_bytes


def test_compacted_segments_are_also_deleted_by_time() -> None:
    topic = CleanedTopic(**{"cleanup.policy": "compact,delete", "retention.ms": str(HOUR_MS)})
    topic.append((b"a", b"1"))
    topic.append((b"b", b"1"))
    topic.fill()
    topic.fill(timestamp=NOW_MS + 2 * HOUR_MS)
    topic.advance()
    log = topic.partition.log
    assert log.log_start_offset == 0
    topic.advance(HOUR_MS + BACKOFF_MS)
    assert log.log_start_offset == 4
    assert log.segments is not None
    assert log.segments.freed_bytes == 0


def test_the_check_runs_only_while_a_topic_is_compacted() -> None:
    topic = CleanedTopic()

    def periods() -> set[int]:
        return {task.interval_ms for task in topic.cluster.timers.waiting_tasks.values()}

    assert BACKOFF_MS in periods()
    topic.cluster.alter_topic_config(topic.topic, {})
    topic.advance()
    assert BACKOFF_MS not in periods()
    topic.cluster.alter_topic_config(topic.topic, CONFIG)
    assert BACKOFF_MS in periods()
    topic.cluster.delete_topic(topic.topic, topic.now_ms)
    topic.advance()
    assert BACKOFF_MS not in periods()


KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
RECORDS = st.lists(st.tuples(KEYS, st.sampled_from([b"1", b"2", None])), min_size=1, max_size=4)
DEEDS = st.one_of(
    RECORDS,
    st.just("segment"),
    st.just("clean"),
    st.sampled_from(["gzip", "producer"]),
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(DEEDS, max_size=20))
def test_a_cleaned_log_has_the_last_record_of_each_key(
    deeds: Sequence[str | list[tuple[bytes, bytes | None]]],
) -> None:
    topic = CleanedTopic(**{"delete.retention.ms": str(100 * HOUR_MS)})
    appended: list[Record] = []
    sequence, compression, producer_id = 0, "none", -1

    def append(*records: Pair, compression: str = "none") -> None:
        nonlocal sequence
        producer = None if producer_id < 0 else (producer_id, 0, sequence)
        offset = topic.append(*records, compression=compression, producer=producer)
        sequence += len(records) if producer else 0
        appended.extend(
            Record(offset + delta, topic.now_ms, key, value, (("h", b"v"),))
            for delta, (key, value) in enumerate(records)
        )

    def end_segment() -> None:
        for number in range(3):
            append((b"fill%d" % number, FILL))

    for deed in [*deeds, "segment", "clean"]:
        if isinstance(deed, list):
            append(*deed, compression=compression)
        elif deed == "segment":
            end_segment()
        elif deed == "clean":
            topic.advance()
        elif deed == "producer":
            producer_id = 7
        else:
            compression = deed

    log = topic.partition.log
    assert log.segments is not None
    assert log.segments.cleaned is not None
    end = log.segments.cleaned.first_dirty_offset
    last = {record.key: record.offset for record in appended if record.offset < end}
    expected = [
        record for record in appended if record.offset >= end or last[record.key] == record.offset
    ]
    assert topic.records() == expected
    assert log.log_end_offset == len(appended)
    assert log.size_bytes == topic.cluster.log_bytes == log.segment_bytes
    assert log.size_bytes == sum(segment.size_bytes for segment in log.segments.segments)
