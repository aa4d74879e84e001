"""A search by time ends in one segment, and deleted records count until their segment goes."""

from broker.cluster.compaction import Compaction
from broker.cluster.log_segments import DEFAULT_SETTINGS
from broker.cluster.offset_by_time import FoundOffset, first_record_from, latest_record
from broker.cluster.producer_rules import new_producers
from broker.cluster.topics import Partition
from broker.config.broker_config import BrokerConfig
from tests.batches import NOW_MS, filled_batch, make_batch

NOTHING = FoundOffset()
TWO_IN_A_SEGMENT = DEFAULT_SETTINGS._replace(segment_bytes=200)


def make_partition(*timestamps: int) -> Partition:
    """Return a partition of batches with one record each, two of them in a segment."""
    producers = new_producers(BrokerConfig.from_overrides({}), 1)
    partition = Partition("t", 0, (1,), (1,), 1, producers)
    for offset, timestamp in enumerate(timestamps):
        partition.log.append(filled_batch(offset, 1, timestamp, 100), 1, 0)
        partition.log.appended_ms = NOW_MS
    return partition


def test_a_time_is_looked_for_in_the_first_segment_that_reaches_it() -> None:
    partition = make_partition(5, 40, 10, 20, 60, 70)
    found = [first_record_from(partition, time, TWO_IN_A_SEGMENT)[:2] for time in (0, 6, 41, 71)]
    assert found == [(0, 5), (1, 40), (4, 60), (-1, -1)]
    # The record of the first segment is deleted, and Kafka does not look behind it.
    partition.log.advance_start(2, TWO_IN_A_SEGMENT)
    found = [first_record_from(partition, time, TWO_IN_A_SEGMENT)[:2] for time in (6, 41)]
    assert found == [(-1, -1), (4, 60)]


def test_a_segment_without_times_is_as_late_as_its_last_append() -> None:
    partition = make_partition(-1, -1, 10, 20)
    assert first_record_from(partition, 10, TWO_IN_A_SEGMENT) == NOTHING
    assert first_record_from(partition, NOW_MS, TWO_IN_A_SEGMENT) == NOTHING


def test_an_internal_topic_is_searched_batch_by_batch() -> None:
    partition = make_partition(-1, -1, 10, 20)
    partition.compaction = Compaction()  # it changes segments
    assert first_record_from(partition, 10, TWO_IN_A_SEGMENT) == FoundOffset(2, 10, 0)


def test_the_latest_record_may_be_a_deleted_one_until_its_segment_goes() -> None:
    partition = make_partition(5, 40, 30, 20, 10, 40)
    log = partition.log
    assert latest_record(log) == FoundOffset(1, 40, 0)
    log.advance_start(5, TWO_IN_A_SEGMENT)
    assert latest_record(log) == FoundOffset(1, 40, 0)
    log.delete_segments(1, 1000, NOW_MS)
    assert latest_record(log) == FoundOffset(5, 40, 0)
    log.advance_start(6, TWO_IN_A_SEGMENT)
    assert latest_record(log) == FoundOffset(5, 40, 0)
    log.delete_segments(2, 1000, NOW_MS)
    assert latest_record(log) == NOTHING


def test_without_times_the_first_record_is_the_latest_if_its_time_is_minus_one() -> None:
    assert latest_record(make_partition(-1, -1).log) == FoundOffset(0, -1, 0)
    assert latest_record(make_partition(-5, -1).log) == NOTHING
    assert latest_record(make_partition().log) == NOTHING
    partition = make_partition()
    partition.log.append(make_batch(b"x", b"x", b"x", timestamps=[-9, -1, -1]), 3, 0)
    assert latest_record(partition.log) == FoundOffset(1, -1, 0)
    partition.log.append(filled_batch(3, 1, -1, 100), 1, 0)
    partition.log.advance_start(3)
    assert latest_record(partition.log) == FoundOffset(1, -1, 0)
