"""Find records of a log by their time: the first one at or after a time, and the latest.

Kafka looks for a time in one segment, the first whose largest timestamp is not before it. A segment
without timestamps counts as written at its last append, so the search ends there without a result.
What DeleteRecords has deleted still counts until its segment goes.

Sources: Kafka's `UnifiedLog.fetchOffsetByTimestamp`, `LogSegment.findOffsetByTimestamp` and
`FileRecords.searchForTimestamp`.
"""

from operator import itemgetter
from typing import NamedTuple

from broker.cluster.log_segments import SegmentSettings, latest_of, readable_records
from broker.cluster.partition_log import PartitionLog
from broker.cluster.topics import Partition
from protocol.pacing import current_turn, may_pause, paced_stream
from protocol.records import RECORD_BYTES_MAX, max_timestamp

_BATCHES_PER_STEP = 10_000
_BEFORE_ALL = -(2**63) - 1


class FoundOffset(NamedTuple):
    """An offset, its record's timestamp and the leader epoch; -1 for absent values."""

    offset: int = -1
    timestamp: int = -1
    leader_epoch: int = -1


@may_pause
def first_record_from(
    partition: Partition,
    timestamp: int,
    settings: SegmentSettings,
    record_bytes_max: int = RECORD_BYTES_MAX,
) -> FoundOffset:
    """Return the first record with a timestamp in ms that is at least `timestamp`.

    `settings` are those of the segments of the partition's topic.

    Raises:
        OversizedRecordError: a compressed record before it is larger than `record_bytes_max`.
        ValueError: a batch is damaged.
    """
    log = partition.log
    offset, end_offset = log.log_start_offset, log.log_end_offset
    if partition.compaction is None and log.keeps_records:
        _extend_segments(log, settings)
        assert log.segments is not None  # made by `_extend_segments`
        offset, end_offset = log.segments.range_with_timestamp(timestamp)
    for batch in paced_stream(log.batches_from_timestamp(timestamp, offset, end_offset)):
        for record in paced_stream(readable_records(batch, record_bytes_max)):
            if record.timestamp >= timestamp and record.offset >= log.log_start_offset:
                return FoundOffset(record.offset, record.timestamp, log.epoch_of(record.offset))
    return FoundOffset()


@may_pause
def latest_record(log: PartitionLog, record_bytes_max: int = RECORD_BYTES_MAX) -> FoundOffset:
    """Return the first record with the largest timestamp, although it may be deleted.

    Without timestamps it is the first record, if its timestamp is -1.

    Raises:
        OversizedRecordError: a compressed record of its batch is larger than
            `record_bytes_max`.
        ValueError: a batch is damaged.
    """
    candidates = [] if log.segments is None else log.segments.deleted_latest()
    largest = max((timestamp for timestamp, _offset in candidates), default=_BEFORE_ALL)
    batch = log.batch_with_max_timestamp()
    if batch is not None and max_timestamp(batch) > largest:
        batch_records = list(paced_stream(readable_records(batch, record_bytes_max)))
        candidates.append(latest_of(batch_records))
    if not candidates:
        return FoundOffset()
    timestamp, offset = max(candidates, key=itemgetter(0))
    return FoundOffset() if offset < 0 else FoundOffset(offset, timestamp, log.epoch_of(offset))


@may_pause
def _extend_segments(log: PartitionLog, settings: SegmentSettings) -> None:
    turn = current_turn()
    while log.extend_segments(settings, _BATCHES_PER_STEP) == _BATCHES_PER_STEP:
        if turn is not None:
            turn.pause()
