"""Whether a log is so dirty that the log cleaner cleans it, and how far.

Sources: Kafka's `LogCleanerManager` and `LogToClean`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from broker.cluster.log_segments import LogSegments
from broker.cluster.topics import Partition
from protocol.records import RECORD_BYTES_MAX

_ALWAYS_MS = -(2**63)


class CleaningSettings(NamedTuple):
    """The configuration of a topic that says when its logs are cleaned, and what stays."""

    compaction_lag_min_ms: int
    compaction_lag_max_ms: int
    dirty_ratio_min: float
    delete_retention_ms: int
    record_bytes_max: int = RECORD_BYTES_MAX

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "CleaningSettings":
        """Return the settings of a topic's configuration."""
        return cls(
            config["min.compaction.lag.ms"],
            config["max.compaction.lag.ms"],
            config["min.cleanable.dirty.ratio"],
            config["delete.retention.ms"],
            config["max.decompressed.message.bytes"],
        )


class LogToClean(NamedTuple):
    """A part of a log that may be cleaned, at time `now_ms`.

    Of the records from `first_dirty_offset` to before `end_offset`, where a segment begins, it is
    not known which are the last of their keys. `segment_count` segments are before `end_offset`.
    """

    first_dirty_offset: int
    end_offset: int
    segment_count: int
    now_ms: int


def log_to_clean(
    partition: Partition, settings: CleaningSettings, now_ms: int, *, is_asked_for: bool = False
) -> LogToClean | None:
    """Return what is to be cleaned of a log whose batches are all in segments, or None.

    A cleaning that somebody asks for needs no dirty part.
    """
    log_segments = partition.log.segments
    assert log_segments is not None
    segments = log_segments.segments
    first_dirty_offset = _first_dirty_offset(partition, log_segments)
    dirty_from = _count_before(log_segments, first_dirty_offset)
    end = log_segments.inactive_count
    stable_offset = partition.last_stable_offset
    cleanable_bytes, clean_bytes, oldest_ms = 0, 0, now_ms
    for segment in segments[:dirty_from]:
        clean_bytes += segment.size_bytes
    if dirty_from < len(segments) and segments[dirty_from].base_offset < first_dirty_offset:
        clean_bytes += segments[dirty_from].size_bytes  # as with Kafka it counts twice
    count = dirty_from
    while count < end:
        segment = segments[count]
        is_young = (
            settings.compaction_lag_min_ms > 0
            and segment.retention_timestamp > now_ms - settings.compaction_lag_min_ms
        )
        if is_young or log_segments.end_of(count + 1) > stable_offset:
            break
        cleanable_bytes += segment.size_bytes
        count += 1
    for segment in segments[dirty_from:end]:
        if segment.first_timestamp > 0:
            oldest_ms = min(oldest_ms, segment.first_timestamp)
    if is_asked_for and count:
        return LogToClean(first_dirty_offset, log_segments.end_of(count), count, now_ms)
    if not cleanable_bytes:
        return None
    is_overdue = oldest_ms < now_ms - settings.compaction_lag_max_ms
    ratio = cleanable_bytes / (clean_bytes + cleanable_bytes)
    if not is_overdue and ratio <= settings.dirty_ratio_min:
        return None
    return LogToClean(first_dirty_offset, log_segments.end_of(count), count, now_ms)


def next_cleaning_ms(partition: Partition, settings: CleaningSettings) -> int | None:
    """Return when a log is to be cleaned if nothing else happens, or None for never.

    It is a time of the past if the log has batches that are in no segment yet.
    """
    log, log_segments = partition.log, partition.log.segments
    if log_segments is None or log_segments.end_offset < log.log_end_offset:
        return _ALWAYS_MS if log.batch_count else None
    times_ms = {_ALWAYS_MS}
    begin = _count_before(log_segments, _first_dirty_offset(partition, log_segments))
    for segment in log_segments.segments[begin : log_segments.inactive_count]:
        times_ms.add(segment.retention_timestamp + settings.compaction_lag_min_ms)
        if segment.first_timestamp > 0:
            times_ms.add(segment.first_timestamp + settings.compaction_lag_max_ms + 1)
    if len(times_ms) == 1:
        return None
    ordered = sorted(times_ms)
    low, high = 0, len(ordered)
    while low < high:  # what is to be cleaned at a time is to be cleaned later as well
        middle = (low + high) // 2
        if log_to_clean(partition, settings, ordered[middle]) is None:
            low = middle + 1
        else:
            high = middle
    return ordered[low] if low < len(ordered) else None


def _first_dirty_offset(partition: Partition, log_segments: LogSegments) -> int:
    cleaned = log_segments.cleaned
    checkpoint = 0 if cleaned is None else cleaned.first_dirty_offset
    return max(checkpoint, partition.log.log_start_offset)


def _count_before(log_segments: LogSegments, offset: int) -> int:
    """Return how many segments end at an offset or before it."""
    count = 0
    while count < len(log_segments.segments) and log_segments.end_of(count + 1) <= offset:
        count += 1
    return count
