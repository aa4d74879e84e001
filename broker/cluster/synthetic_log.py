"""The log of a partition of a synthetic topic: nothing is stored, a read makes the batches.

To its readers it is a log in leader epoch 0 whose high watermark is its end. No retention and no
compaction apply; DeleteRecords moves its start.
"""

from collections.abc import Iterator

from broker.cluster.changed_offsets import LogCut
from broker.cluster.log_segments import DEFAULT_SETTINGS, SegmentSettings
from broker.cluster.partition_log import SHORT_BATCHES_MAX, PartitionLog
from broker.cluster.synthetic_records import SyntheticRecords
from protocol.records import batch_base_offset, max_timestamp


class SyntheticLog(PartitionLog):
    """What a `PartitionLog` answers, from the batches of `SyntheticRecords`."""

    __slots__ = ("_partition_index", "records")

    keeps_records = False

    def __init__(self, records: SyntheticRecords, partition_index: int) -> None:
        super().__init__()
        self.records = records
        self._partition_index = partition_index
        self._begin_epoch(0)
        self.log_start_offset = records.start_offset
        self.log_end_offset = self.high_watermark = records.end_offset

    def has_batch(self, batch: bytes) -> bool:
        """Whether the log has the offset of a batch: the batch is equal then."""
        return batch_base_offset(batch) < self.log_end_offset

    def append(self, batch: bytes, offset_count: int, leader_epoch: int) -> None:
        """Keep nothing: it is the marker of a transaction whose records were refused."""

    def begin_at(self, offset: int) -> None:
        """Make `offset` the log start offset, as DeleteRecords did before a snapshot."""
        self.advance_start(min(offset, self.log_end_offset))

    def rewind(self) -> Iterator[bytes]:
        """Return an iterator over nothing: no batch is stored."""
        return iter(())

    def read_short(
        self,
        fetch_offset: int,
        bytes_max: int,
        *,
        at_least_one: bool,
        end_offset: int | None = None,
    ) -> list[bytes]:
        """Return what `read` returns, or more than `SHORT_BATCHES_MAX` batches of it."""
        records, index = self.records, self._partition_index
        log_end_offset, batch_records = self.log_end_offset, records.batch_records
        end = log_end_offset if end_offset is None else min(end_offset, log_end_offset)
        chosen: list[bytes] = []
        left = bytes_max
        number, offset = fetch_offset // batch_records, fetch_offset
        while offset < end and len(chosen) <= SHORT_BATCHES_MAX:
            base_offset = number * batch_records
            count = min(batch_records, log_end_offset - base_offset)
            is_bounded = bool(chosen) or not at_least_one
            template = records.template(index, number, count)
            size_bytes = template.size_bytes
            if is_bounded and size_bytes is not None and size_bytes > left:
                break
            batch = records.batch(index, number, template)
            left -= len(batch)
            if left < 0 and is_bounded:
                break
            chosen.append(batch)
            number += 1
            offset = base_offset + batch_records
        return chosen

    def readable_bytes(
        self, fetch_offset: int, bytes_max: int, end_offset: int | None = None
    ) -> int:
        """Return the number of bytes that `read` can return, at most `bytes_max`."""
        total = 0
        while total < bytes_max:
            found = self.read_short(
                fetch_offset, bytes_max - total, at_least_one=True, end_offset=end_offset
            )
            if not found:
                break
            total += sum(map(len, found))
            fetch_offset = self._next_offset(found[-1])
        return min(total, bytes_max)

    def _next_offset(self, batch: bytes) -> int:
        return batch_base_offset(batch) + self.records.batch_records

    def batches_from_timestamp(
        self, timestamp: int, start_offset: int = 0, end_offset: int | None = None
    ) -> Iterator[bytes]:
        """Yield the batch that has the first record with at least `timestamp`, if there is one.

        Timestamps ascend with the offsets.
        """
        records = self.records
        first = records.first_number_from(timestamp) * records.batch_records
        found = self.read_short(
            max(start_offset, first), 0, at_least_one=True, end_offset=end_offset
        )
        if found and max_timestamp(found[0]) >= timestamp:
            yield found[0]

    def batch_with_max_timestamp(self) -> bytes | None:
        """Return the first batch with the largest timestamp; None if the log is empty."""
        if self.log_start_offset >= self.log_end_offset:
            return None
        (last,) = self.read_short(self.log_end_offset - 1, 0, at_least_one=True)
        return next(self.batches_from_timestamp(max_timestamp(last), self.log_start_offset))

    def base_offset_at(self, offset: int) -> int:
        """Return where the batch with an offset begins; from the log's end on the offset itself."""
        if offset >= self.log_end_offset:
            return offset
        return offset - offset % self.records.batch_records

    def steps_to(self, offset: int, batches_max: int) -> list[int]:
        """Return `offset`: to move there takes one step, however far it is."""
        return [offset]

    def advance_start(self, offset: int, settings: SegmentSettings = DEFAULT_SETTINGS) -> None:
        """Move the log start offset up to `offset`."""
        self.log_start_offset = max(offset, self.log_start_offset)

    def truncate(self, cut: LogCut) -> list[bytes]:
        """End at an offset, where a replica leads that had less; nothing stored is lost."""
        self.log_end_offset = cut.offset
        self.log_start_offset = min(self.log_start_offset, cut.offset)
        self.high_watermark = min(self.high_watermark, cut.offset)
        return []

    def extend_segments(self, settings: SegmentSettings, batches_max: int) -> int:
        """Return 0: what is not stored has no segments."""
        return 0

    def end_segment_settings(self, settings: SegmentSettings) -> None:
        """Note nothing: what is not stored has no segments."""
