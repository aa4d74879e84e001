"""The log of one partition: stored batches, their offsets, and waiting requests.

A batch is one `bytes` object, as it was received except for base offset and leader epoch. Base
offsets and largest timestamps are read from these bytes: an append touches few objects, which count
among many partitions, and nothing that the garbage collector tracks is made for a batch.

All replicas of a partition share this log: one that falls behind is an end offset (`Partition`).
The high watermark says which records are committed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType
from typing import cast

from broker.cluster.batch_times import first_latest, timestamps
from broker.cluster.changed_offsets import LogCut
from broker.cluster.log_segments import DEFAULT_SETTINGS, LogSegments, SegmentSettings
from broker.cluster.transaction_index import TransactionIndex
from protocol.pacing import may_pause
from protocol.records import (
    batch_base_offset,
    last_offset,
    unpack_base_offset,
    unpack_max_timestamp,
)

OFFSET_MAX = 2**63 - 1
RUN_BATCHES = 256
"""Batches that are read together where a request has room for all of them."""
SHORT_BATCHES_MAX = 16_384
"""Batches that a short request reads: more than 1 MiB of batches with one small record."""

Waiter = Callable[[int], None]
"""Called with `now_ms` when the partition has grown, shrunk, or changed its leader."""

_NO_WAITERS = cast("dict[Waiter, None]", MappingProxyType({}))
"""Of most logs, which never have one; an attempt to change it raises."""
_USUAL_EPOCHS = ((0, 0),)
"""Of logs whose leader has not changed: one object for all of them."""


class PartitionLog:
    """Batches in offset order, from `log_start_offset` up to and without `log_end_offset`."""

    __slots__ = (
        "_batches",
        "_newest_epoch",
        "appended_ms",
        "epoch_starts",
        "has_gaps",
        "high_watermark",
        "is_high_watermark_held",
        "log_end_offset",
        "log_start_offset",
        "segments",
        "size_bytes",
        "transaction_index",
        "waiters",
    )

    keeps_records = True  # or else what is read was not appended

    def __init__(self) -> None:
        self._batches: list[bytes] = []
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        """Where the committed records end: consumers read up to it."""
        self.is_high_watermark_held = False  # if it is, an append does not move it
        self.size_bytes = 0
        self.appended_ms = 0
        """When the newest batch was appended."""
        self.segments: LogSegments | None = None  # until something needs them
        self.has_gaps = False  # are offsets missing between batches, because of compaction?
        # (leader epoch, first offset written in it), ascending, for OffsetForLeaderEpoch.
        self.epoch_starts: tuple[tuple[int, int], ...] = ()
        # Of the last one of these; reading the tuple would touch three more objects.
        self._newest_epoch = -1
        self.transaction_index = TransactionIndex()
        # In the order of arrival: fetches complete in the same order in every run.
        self.waiters = _NO_WAITERS

    @property
    def batch_count(self) -> int:
        """Number of stored batches."""
        return len(self._batches)

    @property
    def oldest_timestamp(self) -> int | None:
        """The largest timestamp in the oldest batch, in ms; None without batches."""
        return unpack_max_timestamp(self._batches[0])[0] if self._batches else None

    def has_batch(self, batch: bytes) -> bool:
        """Whether this object is stored, not only one that equals it."""
        batches = self._batches
        return bool(batches) and batches[self._index_of(batch_base_offset(batch))] is batch

    def append(self, batch: bytes, offset_count: int, leader_epoch: int) -> None:
        """Store a batch already stamped with `log_end_offset` as its base offset."""
        if leader_epoch != self._newest_epoch:
            self._begin_epoch(leader_epoch)
        self._batches.append(batch)
        self.log_end_offset += offset_count
        if not self.is_high_watermark_held:
            self.high_watermark = self.log_end_offset
        self.size_bytes += len(batch)

    def extend(self, batches: list[bytes], log_end_offset: int, leader_epoch: int) -> int:
        """Store at least one batch as `append` does; return how many bytes they have."""
        if leader_epoch != self._newest_epoch:
            self._begin_epoch(leader_epoch)
        self._batches += batches
        self.log_end_offset = log_end_offset
        if not self.is_high_watermark_held:
            self.high_watermark = log_end_offset
        # Often it is one batch, and a sum takes four times as long.
        size_bytes = len(batches[0]) if len(batches) == 1 else sum(map(len, batches))
        self.size_bytes += size_bytes
        return size_bytes

    def _begin_epoch(self, leader_epoch: int) -> None:
        self._newest_epoch = leader_epoch
        starts = (*self.epoch_starts, (leader_epoch, self.log_end_offset))
        self.epoch_starts = _USUAL_EPOCHS if starts == _USUAL_EPOCHS else starts

    def set_epochs(self, starts: Iterable[tuple[int, int]]) -> None:
        """Replace the leader epochs, each with the first offset that was written in it."""
        self.epoch_starts = tuple(starts)
        self._newest_epoch = self.epoch_starts[-1][0] if self.epoch_starts else -1

    def begin_at(self, offset: int) -> None:
        """Make `offset` the first offset of a log that never had a batch."""
        assert self.log_end_offset == 0
        self.log_start_offset = self.high_watermark = self.log_end_offset = offset

    def rewind(self) -> Iterator[bytes]:
        """Return an iterator over all batches, the oldest first."""
        return iter(self._batches)

    def replace_batches(self, batches: list[bytes], end_offset: int, freed_bytes: int) -> None:
        """Store what compaction has left of the batches before `end_offset`.

        Together they have `freed_bytes` less than before. The log's start and end stay.
        """
        if end_offset < self.log_end_offset:
            batches += self._batches[self._index_of(end_offset) :]
        self._batches = batches
        self.size_bytes -= freed_bytes
        self.has_gaps = True

    def wait(self, waiter: Waiter) -> None:
        """Call `waiter` whenever the partition changes, until it leaves."""
        if self.waiters is _NO_WAITERS:
            self.waiters = {waiter: None}
        else:
            self.waiters[waiter] = None

    def leave(self, waiter: Waiter) -> None:
        """Call a waiter no more, if it waits."""
        if waiter in self.waiters:
            del self.waiters[waiter]

    def wake(self, now_ms: int) -> None:
        """Call all waiters of this partition."""
        for waiter in tuple(self.waiters):
            waiter(now_ms)

    def read(
        self,
        fetch_offset: int,
        bytes_max: int,
        *,
        at_least_one: bool,
        end_offset: int | None = None,
    ) -> list[bytes]:
        """Return complete batches from the one with `fetch_offset` on, up to `bytes_max`.

        With `at_least_one` the first batch is returned however large it is (KIP-74).
        `fetch_offset` must lie within the log; at its end there is nothing to read. Nothing is read
        from `end_offset` on, where a batch begins.
        """
        runs = self.read_runs(
            fetch_offset, bytes_max, at_least_one=at_least_one, end_offset=end_offset
        )
        return [batch for run in runs for batch in run]

    def read_runs(
        self,
        fetch_offset: int,
        bytes_max: int,
        *,
        at_least_one: bool,
        end_offset: int | None = None,
    ) -> Iterator[list[bytes]]:
        """Yield the batches that `read` returns, in runs that `read_short` returns.

        The log may change between two of them. Batches that are deleted then end the read.
        """
        left = bytes_max
        if end_offset is None:
            end_offset = self.log_end_offset
        run = self.read_short(fetch_offset, left, at_least_one=at_least_one, end_offset=end_offset)
        while len(run) > SHORT_BATCHES_MAX:
            next_offset = last_offset(run[-1]) + 1
            left -= sum(map(len, run))
            yield run
            if not self.log_start_offset <= next_offset < end_offset:
                return
            run = self.read_short(next_offset, left, at_least_one=False, end_offset=end_offset)
        yield run

    def read_short(
        self,
        fetch_offset: int,
        bytes_max: int,
        *,
        at_least_one: bool,
        end_offset: int | None = None,
    ) -> list[bytes]:
        """Return what `read` returns if that is at most `SHORT_BATCHES_MAX` batches.

        Else return the first of them, and more than `SHORT_BATCHES_MAX`.
        """
        batches = self._batches
        # Most reads are those of a consumer that keeps up.
        if (
            at_least_one
            and (end_offset is None or end_offset >= self.log_end_offset)
            and batches
            and unpack_base_offset(batches[-1])[0] == fetch_offset
        ):
            return [batches[-1]]
        index, index_end = self._range(fetch_offset, end_offset)
        if self.has_gaps and index < index_end and last_offset(batches[index]) < fetch_offset:
            index += 1
        chosen: list[bytes] = []
        left = bytes_max
        while index + RUN_BATCHES < index_end:
            run = batches[index : index + RUN_BATCHES]
            run_bytes = sum(map(len, run))
            if run_bytes > left:
                break
            chosen += run
            left -= run_bytes
            index += RUN_BATCHES
            if len(chosen) > SHORT_BATCHES_MAX:
                return chosen
        while index < index_end:
            batch = batches[index]
            left -= len(batch)
            if left < 0 and (chosen or not at_least_one):
                break
            chosen.append(batch)
            index += 1
        return chosen

    def readable_bytes(
        self, fetch_offset: int, bytes_max: int, end_offset: int | None = None
    ) -> int:
        """Return the number of bytes that `read` can return, at most `bytes_max`."""
        total = 0
        index, index_end = self._range(fetch_offset, end_offset)
        while index < index_end and total < bytes_max:
            next_index = min(index + RUN_BATCHES, index_end)
            total += sum(map(len, self._batches[index:next_index]))
            index = next_index
        return min(total, bytes_max)

    def _range(self, fetch_offset: int, end_offset: int | None) -> tuple[int, int]:
        """Return the indexes of the first batch to read, and of the first not to read."""
        if fetch_offset >= self.log_end_offset:
            return 0, 0
        batches = self._batches
        if end_offset is None or end_offset >= self.log_end_offset:
            index_end = len(batches)
        else:
            index_end = bisect_left(batches, (end_offset,), key=unpack_base_offset)
        return self._index_of(fetch_offset), index_end

    def _index_of(self, offset: int) -> int:
        """Return the index of the batch with an offset, or of the first one."""
        batches = self._batches
        # A consumer that keeps up reads the newest batch.
        if batches and unpack_base_offset(batches[-1])[0] <= offset:
            return len(batches) - 1
        return max(0, bisect_right(batches, (offset,), key=unpack_base_offset) - 1)

    @may_pause
    def batches_from_timestamp(
        self, timestamp: int, start_offset: int = 0, end_offset: int | None = None
    ) -> Iterator[bytes]:
        """Yield the batches whose largest timestamp is at least `timestamp`, in offset order.

        They begin before `end_offset`, and the first one has `start_offset` or is behind it.
        """
        index, index_end = self._range(start_offset, end_offset)
        batches = self._batches[index:index_end]  # the log may change in a pause
        for batch, batch_timestamp in zip(batches, timestamps(batches), strict=True):
            if batch_timestamp >= timestamp:
                yield batch

    @may_pause
    def batch_with_max_timestamp(self) -> bytes | None:
        """Return the first batch with the largest timestamp; without timestamps the oldest one."""
        return first_latest(self._batches[:])

    def epoch_of(self, offset: int) -> int:
        """Return the leader epoch in which an offset was written; -1 if it is unknown."""
        found = -1
        for epoch, start_offset in self.epoch_starts:
            if start_offset > offset:
                break
            found = epoch
        return found

    def base_offset_at(self, offset: int) -> int:
        """Return where the batch with an offset begins; from the log's end on the offset itself."""
        if offset >= self.log_end_offset:
            return offset
        return batch_base_offset(self._batches[self._index_of(offset)])

    def steps_to(self, offset: int, batches_max: int) -> list[int]:
        """Return offsets up to `offset`, the last one, with at most so many batches between two."""
        index_end = len(self._batches) if offset >= self.log_end_offset else self._index_of(offset)
        indexes = range(batches_max, index_end, batches_max)
        return [*(batch_base_offset(self._batches[index]) for index in indexes), offset]

    def advance_start(self, offset: int, settings: SegmentSettings = DEFAULT_SETTINGS) -> None:
        """Move the log start up to `offset`; drop batches that end before it, not segments."""
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        self.transaction_index.drop_before(offset)
        at_end = offset >= self.log_end_offset
        count = len(self._batches) if at_end else self._index_of(offset)
        if count:
            self._put_in_segments(count, settings).note_deleted(self._batches[:count])
            self._drop_oldest(count, None)

    @property
    def cuts(self) -> tuple[LogCut, ...]:
        """Each time that the log lost its end."""
        return () if self.segments is None else self.segments.cuts

    def truncate(self, cut: LogCut) -> list[bytes]:
        """Lose the batches from an offset on, and end there; return them.

        A log that begins behind it is empty then, and begins there (Kafka's `truncateTo`).
        """
        offset, batches = cut.offset, self._batches
        index = bisect_left(batches, (offset,), key=unpack_base_offset)
        lost = batches[index:]
        del batches[index:]
        self.size_bytes -= sum(map(len, lost))
        self.log_start_offset = min(self.log_start_offset, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.log_end_offset = offset
        self.set_epochs(known for known in self.epoch_starts if known[1] < offset)
        self.transaction_index.truncate(offset)
        if self.segments is None:
            self.segments = LogSegments()
        self.segments.truncate(batches, lost, cut)
        return lost

    def take_all(self) -> list[bytes]:
        """Delete all batches, and return them: to free the memory of very many takes long."""
        batches, self._batches = self._batches, []
        self.size_bytes = 0
        self.log_start_offset = self.high_watermark = self.log_end_offset
        self.transaction_index.drop_before(self.log_start_offset)
        return batches

    def drop_at_least(
        self, byte_count: int, batches_max: int, settings: SegmentSettings = DEFAULT_SETTINGS
    ) -> int:
        """Delete the oldest batches until `byte_count` bytes are free; return the bytes freed.

        The newest batch stays, and at most `batches_max` are deleted: fewer bytes may be freed.
        """
        count, freed_bytes = 0, 0
        count_max = min(batches_max, len(self._batches) - 1)
        while freed_bytes < byte_count and count < count_max:
            freed_bytes += len(self._batches[count])
            count += 1
        return self._drop_oldest(count, settings)

    @property
    def segment_bytes(self) -> int:
        """The size of the segments: of the batches, and of what was deleted from a segment."""
        return self.size_bytes + (0 if self.segments is None else self.segments.freed_bytes)

    def extend_segments(self, settings: SegmentSettings, batches_max: int) -> int:
        """Add batches to the segments, at most so many; return how many."""
        segments = self.segments
        if segments is None:
            segments = self.segments = LogSegments()
        if segments.end_offset >= self.log_end_offset:
            return 0
        start = bisect_left(self._batches, (segments.end_offset,), key=unpack_base_offset)
        batches = self._batches[start : start + batches_max]
        segments.extend(batches, settings, self.appended_ms)
        return len(batches)

    def end_segment_settings(self, settings: SegmentSettings) -> None:
        """Note the settings that the batches up to now were appended with: they change."""
        if self.segments is None:
            self.segments = LogSegments()
        self.segments.end_settings(self.log_end_offset, settings)

    def delete_segments(self, count: int, batches_max: int, now_ms: int) -> int:
        """Delete the oldest segments with their batches; return the bytes freed.

        At most `batches_max` batches are deleted, so that fewer segments may be.
        """
        segments = self.segments
        assert segments is not None
        end_offset = segments.end_of(count)
        batch_count = bisect_left(self._batches, (end_offset,), key=unpack_base_offset)
        freed_bytes = self._drop_oldest(min(batch_count, batches_max), None, end_offset)
        while count and segments.end_of(count) > self.log_start_offset:
            count -= 1
        segments.remove(count, now_ms)
        return freed_bytes

    def _drop_oldest(
        self, count: int, settings: SegmentSettings | None, end_offset: int = OFFSET_MAX
    ) -> int:
        """Drop batches; without settings they are in segments, which end at `end_offset`."""
        if count == 0:
            return 0
        if settings is not None:
            self._put_in_segments(count, settings)
        dropped_bytes = sum(map(len, self._batches[:count]))
        del self._batches[:count]
        self.size_bytes -= dropped_bytes
        assert self.segments is not None
        self.segments.freed_bytes += dropped_bytes
        first = batch_base_offset(self._batches[0]) if self._batches else self.log_end_offset
        self.log_start_offset = max(self.log_start_offset, min(first, end_offset))
        # As in `UnifiedLog.updateLogStartOffset`.
        self.high_watermark = max(self.high_watermark, self.log_start_offset)
        self.transaction_index.drop_before(self.log_start_offset)
        return dropped_bytes

    def _put_in_segments(self, count: int, settings: SegmentSettings) -> LogSegments:
        """Return the segments, with the `count` oldest batches at least."""
        segments = self.segments
        if segments is None or segments.end_offset <= batch_base_offset(self._batches[count - 1]):
            self.extend_segments(settings, count)
        assert self.segments is not None  # made by `extend_segments`
        return self.segments
