"""Clean a part of a log of a client's topic: keep the last record of each key.

The last record of each key counts in the dirty part. With it, all records before the end of the
dirty part are looked at: those that another cleaning has left may have a later one now, or be
tombstones whose time is over.

Sources: Kafka's `Cleaner` and `MemoryRecords.filterTo`.
"""

from bisect import bisect_left
from collections.abc import Generator, Iterator

from broker.cluster.batch_filter import (
    RECORDS_PER_STEP,
    delete_horizon_ms,
    emptied,
    free_in_steps,
    rewritten,
)
from broker.cluster.cleaned_transactions import CleanedTransactions
from broker.cluster.log_segments import LogSegments, Segment, SegmentSettings
from broker.cluster.log_to_clean import CleaningSettings, LogToClean
from broker.cluster.topics import Partition
from producer_state.rules import SEQUENCE_MAX
from protocol.records import (
    CONTROL_FLAG,
    RECORD_BYTES_MAX,
    BatchHeader,
    OversizedRecordError,
    Record,
    read_header,
    read_records,
    unpack_base_offset,
)

BATCHES_PER_STEP = 250
"""Batches of which one step decodes a record each."""


class LogCleaning:
    """One cleaning of a log. Batches may be appended between its steps."""

    def __init__(
        self,
        partition: Partition,
        found: LogToClean,
        settings: CleaningSettings,
        kept_end_offset: int,
    ) -> None:
        """A batch that ends at `kept_end_offset` stays, if need be without its records."""
        self._partition = partition
        self._kept_end_offset = kept_end_offset
        self._found = found
        self._now_ms = found.now_ms
        self._delete_retention_ms = settings.delete_retention_ms
        self._record_bytes_max = settings.record_bytes_max
        self._last_offsets: dict[bytes, int] = {}
        """Offset of the last record of each key in the dirty part."""
        self._transactions = self._new_transactions()
        self.freed_bytes = 0
        self.removed_count = 0
        """Records that are gone; markers of transactions do not count."""
        self.is_done = False

    @property
    def end_offset(self) -> int:
        """Where the cleaned part ends."""
        return self._found.end_offset

    def steps(self, settings: SegmentSettings) -> Iterator[None]:
        """Clean, and yield after each short step; `is_done` says whether it has changed the log.

        Nothing changes if records are deleted or lost between two steps, or another cleaning
        begins: the next check looks at the rest.

        Raises:
            OversizedRecordError: a compressed record of the dirty part is larger than the limit of
                the topic, which was higher when it was stored. Nothing has changed.
        """
        log, found = self._partition.log, self._found
        start_offset, segments, cuts = log.log_start_offset, log.segments, log.cuts
        assert segments is not None
        segments.cleanings_begun += 1
        number_of_cleaning = segments.cleanings_begun
        batches = list(log.rewind())
        del batches[bisect_left(batches, (found.end_offset,), key=unpack_base_offset) :]
        yield from self._map_keys(batches)
        self._transactions = self._new_transactions()
        kept: list[bytes] = []
        changed: list[tuple[int, int]] = []
        cleaned = _SegmentsOfKept(segments, found.segment_count, settings)
        for number, batch in enumerate(batches, 1):
            if number % BATCHES_PER_STEP == 0:
                yield
            header = read_header(batch, 0)
            left = yield from self._filtered(header, batch)
            if left is not batch:
                changed.append((header.base_offset, _last_offset(header) + 1))
                self.freed_bytes += len(batch)
                self._count_removed(header, left)
            if left is not None:
                kept.append(left)
                cleaned.add(header.base_offset, left)
                self.freed_bytes -= 0 if left is batch else len(left)
        is_late = segments.cleanings_begun != number_of_cleaning
        if is_late or log.log_start_offset != start_offset or log.cuts != cuts:
            self.freed_bytes = self.removed_count = 0
            return
        log.replace_batches(kept, found.end_offset, self.freed_bytes)
        log.transaction_index.replace_before(found.end_offset, self._transactions.kept)
        segments.replace(found.segment_count, cleaned.segments)
        segments.note_cleaned(changed, found.end_offset, start_offset)
        self.is_done = True
        yield from free_in_steps(batches)

    def _count_removed(self, header: BatchHeader, left: bytes | None) -> None:
        if not header.attributes & CONTROL_FLAG:
            left_count = 0 if left is None else read_header(left, 0).records_count
            self.removed_count += header.records_count - left_count

    def _new_transactions(self) -> CleanedTransactions:
        index = self._partition.log.transaction_index
        return CleanedTransactions(index.overlapping(0, self._found.end_offset))

    def _map_keys(self, batches: list[bytes]) -> Iterator[None]:
        """Find the last record of each key in the dirty part."""
        last_offsets, first_dirty_offset = self._last_offsets, self._found.first_dirty_offset
        for number, batch in enumerate(batches, 1):
            if number % BATCHES_PER_STEP == 0:
                yield
            header = read_header(batch, 0)
            if header.attributes & CONTROL_FLAG:
                self._transactions.can_discard_marker(header, batch)
                continue
            is_aborted = self._transactions.is_aborted(header)
            if is_aborted or _last_offset(header) < first_dirty_offset:
                continue
            for record in (yield from _records_of(batch, self._record_bytes_max)) or ():
                if record.key is not None and record.offset >= first_dirty_offset:
                    last_offsets[record.key] = record.offset

    def _filtered(self, header: BatchHeader, batch: bytes) -> Generator[None, None, bytes | None]:
        """Return what stays of a batch: the same object, another one, or None."""
        is_control = bool(header.attributes & CONTROL_FLAG)
        horizon_ms = delete_horizon_ms(header)
        if is_control:
            is_discardable = self._transactions.can_discard_marker(header, batch)
            is_over = horizon_ms is not None and horizon_ms <= self._now_ms
            discards_records = is_discardable and is_over
        else:
            is_discardable = discards_records = self._transactions.is_aborted(header)
        records: list[Record] = []
        if not discards_records:
            decoded = yield from _records_of(batch)
            if decoded is None:
                return batch
            records = decoded
        is_needed_empty = _last_offset(header) + 1 == self._kept_end_offset or (
            self._is_last_of_producer(header, is_control=is_control)
        )
        left = records
        if not is_control:
            left = [record for record in records if self._stays(record, horizon_ms)]
        if not left:
            if not is_needed_empty:
                return None
            return batch if header.records_count == 0 else emptied(batch)
        sets_horizon = horizon_ms is None and (
            (is_control and is_discardable) or any(record.value is None for record in left)
        )
        if sets_horizon:
            new_horizon_ms = self._now_ms + self._delete_retention_ms
            return (yield from rewritten(batch, left, new_horizon_ms))
        return batch if len(left) == len(records) else (yield from rewritten(batch, left))

    def _stays(self, record: Record, horizon_ms: int | None) -> bool:
        if record.key is None or record.offset < self._last_offsets.get(record.key, -1):
            return False
        return record.value is not None or horizon_ms is None or self._now_ms < horizon_ms

    def _is_last_of_producer(self, header: BatchHeader, *, is_control: bool) -> bool:
        """Return whether a batch has the last sequence, or else the last epoch, of its producer."""
        if header.producer_id < 0:
            return False
        entry = self._partition.producers.entry(header.producer_id)
        if entry is None:
            return False
        if not entry.batches:
            return is_control and header.producer_epoch == entry.producer_epoch
        newest = entry.batches[0]
        last_delta = (newest.last_sequence - newest.first_sequence) & SEQUENCE_MAX
        return _last_offset(header) == newest.base_offset + last_delta


class _SegmentsOfKept:
    """The segments that a cleaning makes of the oldest ones of a log. Add what it keeps."""

    def __init__(self, before: LogSegments, count: int, settings: SegmentSettings) -> None:
        self._groups = before.groups_to_clean(count, settings)
        self._number = 0
        self.segments = []
        for group in self._groups:
            segment = Segment(group[0].base_offset, group[0].created_ms, settings)
            segment.modified_ms = group[-1].modified_ms
            self.segments.append(segment)

    def add(self, base_offset: int, batch: bytes) -> None:
        segments = self.segments
        while (
            self._number + 1 < len(segments)
            and segments[self._number + 1].base_offset <= base_offset
        ):
            self._number += 1
        segments[self._number].add((batch,), self._groups[self._number][-1].modified_ms)


def _records_of(
    batch: bytes, record_bytes_max: int = RECORD_BYTES_MAX
) -> Generator[None, None, list[Record] | None]:
    """Return the records of a batch; None if it can't be decoded: a fault damaged it.

    Raises:
        OversizedRecordError: a compressed record is larger than `record_bytes_max`.
    """
    records: list[Record] = []
    if read_header(batch, 0).records_count == 0:
        return records
    try:
        for number, record in enumerate(read_records(batch, record_bytes_max=record_bytes_max), 1):
            records.append(record)
            if number % RECORDS_PER_STEP == 0:
                yield
    except OversizedRecordError:
        raise
    except ValueError:
        return None
    return records


def _last_offset(header: BatchHeader) -> int:
    return header.base_offset + header.last_offset_delta
