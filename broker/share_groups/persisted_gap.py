"""Offsets that a former leader delivered, and whose results it did not store.

They are gaps between the state batches that a new leader reads.

Source: Kafka's `SharePartition.GapWindow`.
"""

from broker.share_groups.in_flight_records import InFlightRecords


class PersistedGap:
    """The first gap that is left; `start_offset` is None if there is none.

    A gap is open while nothing behind the stored batches was acquired: `end_offset` is the last
    offset of these batches.
    """

    __slots__ = ("end_offset", "start_offset")

    def __init__(self) -> None:
        self.start_offset: int | None = None
        self.end_offset = -1

    def open_start(self, end_offset: int) -> int | None:
        """Return where the first gap begins; None if there is none, or `end_offset` has moved."""
        return self.start_offset if self.end_offset == end_offset else None

    def move(self, offset: int, records: InFlightRecords, end_offset: int) -> None:
        """Let the first gap begin at an offset, or behind what is in flight there."""
        if self.open_start(end_offset) is None:
            self.start_offset = None
            return
        batch = records.floor(offset)
        while batch is not None and batch.contains(offset):
            offset = batch.last_offset + 1
            batch = records.floor(offset)
        self.start_offset = offset if offset <= self.end_offset else None
