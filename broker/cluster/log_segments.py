"""Segments of a log, as numbers: where Kafka would have begun a new file.

Batches are in memory, so a segment is no place where they are kept. It decides what retention
deletes together, and how many bytes DescribeLogDirs counts. When a batch is appended nothing is
computed: `extend` takes the batches that were appended since, in their order, with the settings
that their topic had at that time.

Sources: Kafka's `LogSegment.shouldRoll` and `append`, `UnifiedLog.maybeRoll`, `LogConfig`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from typing import Any, NamedTuple

from broker.cluster.changed_offsets import CleanedOffsets, LogCut
from protocol.records import (
    HEADER_BYTES,
    RECORD_BYTES_MAX,
    OversizedRecordError,
    Record,
    batch_base_offset,
    last_offset,
    max_timestamp,
    read_records,
    unpack_base_offset,
    unpack_max_timestamp,
)

BATCHES_PER_RUN = 256
"""Batches that are added together where none of them begins a segment."""
_OFFSETS_MAX = 2**31 - 1
"""An index has an offset as a number of 32 bits from the first one of its segment."""
_OFFSET_ENTRY_BYTES, _TIME_ENTRY_BYTES = 8, 12
_JITTER_FACTOR = 2_654_435_761
"""Spreads the numbers that the jitter of a segment is taken from (Knuth's multiplicative hash)."""


class SegmentSettings(NamedTuple):
    """The configuration of a topic that says when a segment ends."""

    segment_bytes: int
    segment_ms: int
    jitter_ms: int
    """The largest number that is taken off `segment_ms`, and one more."""
    index_entries_max: int
    time_entries_max: int
    """One less than there is room for: the last one is for the end of the segment."""
    index_interval_bytes: int
    can_fill_index: bool
    """Whether an index may be full before `segment_bytes` are reached.

    Only then entries are counted.
    """

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "SegmentSettings":
        """Return the settings of a topic's configuration."""
        segment_bytes, segment_ms = config["segment.bytes"], config["segment.ms"]
        compaction_lag_ms = config["max.compaction.lag.ms"]
        if "compact" in config["cleanup.policy"] and compaction_lag_ms > 0:
            segment_ms = min(segment_ms, compaction_lag_ms)
        index_bytes, interval_bytes = config["segment.index.bytes"], config["index.interval.bytes"]
        entries_max = index_bytes // _OFFSET_ENTRY_BYTES
        time_entries_max = index_bytes // _TIME_ENTRY_BYTES - 1
        most_entries = segment_bytes // max(interval_bytes + 1, HEADER_BYTES) + 1
        return cls(
            segment_bytes,
            segment_ms,
            min(config["segment.jitter.ms"], config["segment.ms"]),
            entries_max,
            time_entries_max,
            interval_bytes,
            most_entries >= min(entries_max, time_entries_max),
        )


DEFAULT_SETTINGS = SegmentSettings(
    segment_bytes=1 << 30,
    segment_ms=7 * 86_400_000,
    jitter_ms=0,
    index_entries_max=(10 << 20) // _OFFSET_ENTRY_BYTES,
    time_entries_max=(10 << 20) // _TIME_ENTRY_BYTES - 1,
    index_interval_bytes=4096,
    can_fill_index=False,
)
"""Those of a topic whose configuration is not set."""


class Segment:
    """Batches from `base_offset` up to the next segment. Times are in ms, -1 for none."""

    __slots__ = (
        "_bytes_since_entry",
        "_created_with",
        "_index_entries",
        "_last_entry_timestamp",
        "_time_entries",
        "base_offset",
        "created_ms",
        "deleted_latest",
        "first_timestamp",
        "largest_timestamp",
        "modified_ms",
        "size_bytes",
    )

    def __init__(self, base_offset: int, created_ms: int, settings: SegmentSettings) -> None:
        self.base_offset = base_offset
        self._created_with = settings
        """Its indexes and its jitter stay as they are when the settings change."""
        self.created_ms = self.modified_ms = created_ms
        self.size_bytes = 0
        self.largest_timestamp = -1
        self.deleted_latest: tuple[int, int] | None = None
        """What `latest_of` says of the batches that DeleteRecords has deleted."""
        self.first_timestamp = -1
        """The largest timestamp of the first batch."""
        self._bytes_since_entry = 0
        self._index_entries = self._time_entries = 0
        self._last_entry_timestamp = -1

    @property
    def retention_timestamp(self) -> int:
        """From when on retention counts: the largest timestamp, or the last append without one."""
        return self.largest_timestamp if self.largest_timestamp >= 0 else self.modified_ms

    def ends_before(
        self, run: Sequence[bytes], appended_ms: int, settings: SegmentSettings
    ) -> bool:
        """Return whether a batch of a run may begin a new segment; of one batch, whether it does.

        `appended_ms` is the time of the append.
        """
        run_bytes = len(run[0]) if len(run) == 1 else sum(map(len, run))
        if self.size_bytes + run_bytes > settings.segment_bytes:
            return True
        if self.first_timestamp >= 0:
            waited_ms = max(map(unpack_max_timestamp, run))[0] - self.first_timestamp
        else:
            waited_ms = appended_ms - self.created_ms
        if waited_ms > settings.segment_ms - self._jitter_ms:
            return True
        created_with = self._created_with
        if created_with.can_fill_index and (
            len(run) > 1
            or self._index_entries >= created_with.index_entries_max
            or self._time_entries >= created_with.time_entries_max
        ):
            return True
        return last_offset(run[-1]) - self.base_offset > _OFFSETS_MAX

    @property
    def _jitter_ms(self) -> int:
        spread = (self.base_offset + self.created_ms) * _JITTER_FACTOR % (1 << 32)
        return spread * self._created_with.jitter_ms >> 32

    def add(self, run: Sequence[bytes], appended_ms: int) -> None:
        """Add batches that do not begin a new segment."""
        if self.size_bytes == 0:
            self.first_timestamp = max_timestamp(run[0])
        self.modified_ms = appended_ms
        largest = max(map(unpack_max_timestamp, run))[0]
        self.largest_timestamp = max(self.largest_timestamp, largest)
        run_bytes = sum(map(len, run))
        if self._created_with.can_fill_index:
            self._note_entry(self._created_with.index_interval_bytes)
            self._bytes_since_entry += run_bytes
        self.size_bytes += run_bytes

    def truncated(self, kept: Iterable[bytes], lost_bytes: int) -> "Segment":
        """Return it with these batches and what is deleted before them, without the rest."""
        segment = Segment(self.base_offset, self.created_ms, self._created_with)
        for batch in kept:
            segment.add((batch,), self.modified_ms)
        segment.size_bytes = self.size_bytes - lost_bytes
        segment.modified_ms = self.modified_ms
        if self.deleted_latest is not None:
            segment.deleted_latest = self.deleted_latest
            segment.first_timestamp = self.first_timestamp
            segment.largest_timestamp = max(segment.largest_timestamp, self.deleted_latest[0])
        return segment

    def _note_entry(self, interval_bytes: int) -> None:
        if self._bytes_since_entry > interval_bytes:
            self._bytes_since_entry = 0
            self._index_entries += 1
            if self.largest_timestamp > self._last_entry_timestamp:
                self._time_entries += 1
                self._last_entry_timestamp = self.largest_timestamp


class LogSegments:
    """The segments of one log, the oldest first, for its batches before `end_offset`."""

    __slots__ = (
        "_emptied_ms",
        "_settings_until",
        "cleaned",
        "cleanings_begun",
        "cuts",
        "end_offset",
        "freed_bytes",
        "is_rolled",
        "segments",
        "uncleanable_for",
    )

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.is_rolled = False
        """Whether the next batch begins a segment, whatever its size and time."""
        self.cleanings_begun = 0
        """How many cleanings of the log have begun; only the latest one may change it."""
        self.end_offset = 0
        self.freed_bytes = 0
        """Bytes of deleted records whose segment is still there."""
        self.cleaned: CleanedOffsets | None = None
        """None until the log cleaner has cleaned the log."""
        self.uncleanable_for: tuple[int, int] | None = None
        """The incarnation of the broker whose log cleaner could not clean the log."""
        self.cuts: tuple[LogCut, ...] = ()
        """Each time that the log lost its end, the first one first."""
        self._emptied_ms = -1
        """When the last segment was removed: Kafka begins another one then, without records."""
        self._settings_until: list[tuple[int, SegmentSettings]] = []
        """Settings of the past, each with the offset where it ended, the oldest first."""

    def end_settings(self, offset: int, settings: SegmentSettings) -> None:
        """Note the settings for the batches before `offset`; those behind it have others."""
        if offset > self.end_offset:
            self._settings_until.append((offset, settings))

    def extend(self, batches: Sequence[bytes], settings: SegmentSettings, appended_ms: int) -> None:
        """Add the batches from `end_offset` on.

        `appended_ms` is the time of the last append.
        """
        start = 0
        while start < len(batches):
            run, applied = batches[start : start + BATCHES_PER_RUN], settings
            if self._settings_until:
                offset, applied = self._settings_until[0]
                run = run[: bisect_left(run, (offset,), key=unpack_base_offset)]
            if run:
                self._add(run, applied, appended_ms)
                start += len(run)
            else:
                del self._settings_until[0]

    def _add(self, run: Sequence[bytes], settings: SegmentSettings, appended_ms: int) -> None:
        segments = self.segments
        is_new = (
            not segments or self.is_rolled or segments[-1].ends_before(run, appended_ms, settings)
        )
        if is_new and len(run) > 1:
            middle = len(run) // 2
            self._add(run[:middle], settings, appended_ms)
            self._add(run[middle:], settings, appended_ms)
            return
        if is_new:
            created_ms = appended_ms if segments or self._emptied_ms < 0 else self._emptied_ms
            segments.append(Segment(batch_base_offset(run[0]), created_ms, settings))
            self.is_rolled = False
        segments[-1].add(run, appended_ms)
        self.end_offset = last_offset(run[-1]) + 1

    def count_deletable(
        self,
        log_start_offset: int,
        high_watermark: int,
        retention_bytes: int,
        retention_ms: int,
        now_ms: int,
    ) -> int:
        """Return how many of the oldest segments retention deletes (`deleteOldSegments`).

        First those that end before the log start, then those beyond `retention_bytes`, then those
        whose records are all older than `retention_ms`; a negative bound deletes nothing. A segment
        that ends behind the high watermark stays.
        """
        segments, count = self.segments, 0
        while count + 1 < len(segments) and segments[count + 1].base_offset <= log_start_offset:
            count += 1
        if retention_bytes >= 0:
            left = sum(segment.size_bytes for segment in segments[count:]) - retention_bytes
            while count < len(segments) and left >= segments[count].size_bytes:
                left -= segments[count].size_bytes
                count += 1
        if retention_ms >= 0:
            for segment in segments[count:]:
                if now_ms - segment.retention_timestamp <= retention_ms:
                    break
                count += 1
        while count and self.end_of(count) > high_watermark:
            count -= 1
        return count

    def range_with_timestamp(self, timestamp: int) -> tuple[int, int]:
        """Return where the first segment begins and ends whose time is not before `timestamp`."""
        for number, segment in enumerate(self.segments, 1):
            if segment.retention_timestamp >= timestamp:
                return segment.base_offset, self.end_of(number)
        return self.end_offset, self.end_offset

    def note_deleted(self, batches: Sequence[bytes]) -> None:
        """Note the latest of records that are deleted before their segments go."""
        number, start = 0, 0
        while start < len(batches):
            number += 1
            end_offset = self.end_of(number)
            end = bisect_left(batches, (end_offset,), start, key=unpack_base_offset)
            if end > start:
                segment = self.segments[number - 1]
                latest = max(batches[start:end], key=_time_of)
                before = segment.deleted_latest
                if before is None or _time_of(latest) > before[0]:
                    segment.deleted_latest = latest_of(readable_records(latest))
            start = end

    def deleted_latest(self) -> list[tuple[int, int]]:
        """Return what `latest_of` says of the deleted records of each segment, the oldest first."""
        found = (segment.deleted_latest for segment in self.segments)
        return [latest for latest in found if latest is not None]

    def roll(self) -> None:
        """End the newest segment, so that the log cleaner may clean it."""
        self.is_rolled = bool(self.segments)

    @property
    def inactive_count(self) -> int:
        """How many segments are not active: the log cleaner looks at no others."""
        return max(0, len(self.segments) - (not self.is_rolled))

    def end_of(self, count: int) -> int:
        """Return the offset where the first `count` segments end."""
        segments = self.segments
        return segments[count].base_offset if count < len(segments) else self.end_offset

    def groups_to_clean(self, count: int, settings: SegmentSettings) -> list[list[Segment]]:
        """Return the oldest segments in groups that become one segment each.

        Kafka's `Cleaner.groupSegmentsBySize`.
        """
        groups: list[list[Segment]] = []
        size_bytes = 0
        for number, segment in enumerate(self.segments[:count], 1):
            size_bytes += segment.size_bytes
            if (
                groups
                and size_bytes <= settings.segment_bytes
                and self.end_of(number) - 1 - groups[-1][0].base_offset <= _OFFSETS_MAX
            ):
                groups[-1].append(segment)
            else:
                groups.append([segment])
                size_bytes = segment.size_bytes
        return groups

    def replace(self, count: int, cleaned: list[Segment]) -> None:
        """Replace the oldest segments by those of what cleaning has left.

        What DeleteRecords has deleted from them is gone with them.
        """
        self.segments[:count] = cleaned
        self.freed_bytes = 0

    def note_cleaned(
        self, changed: Sequence[tuple[int, int]], end_offset: int, log_start_offset: int
    ) -> None:
        """Note in which ranges of offsets a cleaning up to `end_offset` has changed batches."""
        if self.cleaned is None:
            self.cleaned = CleanedOffsets()
        cleaned = self.cleaned
        before = zip(cleaned.starts, cleaned.ends, strict=True)
        known = (found for found in before if found[1] > log_start_offset)
        cleaned.replace(merge(known, changed), end_offset)

    def truncate(self, kept: Sequence[bytes], lost: Sequence[bytes], cut: LogCut) -> None:
        """Have the segments end where a log ends now that has lost batches.

        The last one that is left has the times of its batches, as with Kafka's `truncateTo`.
        """
        offset, settings = cut.offset, self._settings_until
        self.cuts += (cut,)
        ended = next((known for at, known in settings if at > offset), None)
        self._settings_until = [known for known in settings if known[0] <= offset]
        if self.cleaned is not None:
            self.cleaned.truncate(offset)
        if offset >= self.end_offset:
            if ended is not None:
                self.end_settings(offset, ended)
            return
        known = lost[: bisect_left(lost, (self.end_offset,), key=unpack_base_offset)]
        segments = self.segments
        while segments and segments[-1].base_offset >= offset:
            removed = segments.pop()
            first = bisect_left(known, (removed.base_offset,), key=unpack_base_offset)
            self.freed_bytes -= removed.size_bytes - sum(map(len, known[first:]))
            known = known[:first]
        if segments:
            first = bisect_left(kept, (segments[-1].base_offset,), key=unpack_base_offset)
            segments[-1] = segments[-1].truncated(kept[first:], sum(map(len, known)))
        self.end_offset = offset

    def remove(self, count: int, now_ms: int) -> None:
        """Remove the oldest segments, whose records were deleted."""
        if 0 < count == len(self.segments):
            self._emptied_ms = now_ms
            self.is_rolled = False
        self.freed_bytes -= sum(segment.size_bytes for segment in self.segments[:count])
        del self.segments[:count]


def latest_of(batch: Iterable[Record]) -> tuple[int, int]:
    """Return the largest timestamp of the records of a batch, -1 for none, and its first offset.

    The offset is -1 if no record has it: if all have other negative timestamps.
    """
    largest, found = -1, -1
    for record in batch:
        if record.timestamp > largest or (found < 0 and record.timestamp == largest):
            largest, found = record.timestamp, record.offset
    return largest, found


def readable_records(batch: bytes, record_bytes_max: int = RECORD_BYTES_MAX) -> Iterator[Record]:
    """Yield the records of a batch.

    A compressed batch may be stored that cannot be decompressed within the limit. Its last record
    then stands for the rest of it, with the batch's largest timestamp.

    Raises:
        OversizedRecordError: a compressed record is larger than `record_bytes_max`.
    """
    try:
        yield from read_records(batch, record_bytes_max=record_bytes_max)
    except OversizedRecordError:
        raise
    except ValueError:
        yield Record(last_offset(batch), max_timestamp(batch), None, None, ())


def _time_of(batch: bytes) -> int:
    return max(-1, max_timestamp(batch))
