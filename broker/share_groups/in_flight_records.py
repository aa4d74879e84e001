"""All batches in flight of a share partition, in the order of their offsets."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from broker.share_groups.dead_letters import DELIVERED_TOO_OFTEN, REJECTED, DeadLetters
from broker.share_groups.in_flight import InFlightBatch, InFlightState, RecordState


class InFlightRecords:
    """Batches that do not overlap, by their first offset. There may be gaps between them."""

    __slots__ = ("_batches", "_first_offsets")

    def __init__(self) -> None:
        self._first_offsets: list[int] = []
        self._batches: dict[int, InFlightBatch] = {}

    def __len__(self) -> int:
        return len(self._first_offsets)

    def __iter__(self) -> Iterator[InFlightBatch]:
        return (self._batches[offset] for offset in self._first_offsets)

    @property
    def first_offset(self) -> int:
        """The first offset of all; there must be a batch."""
        return self._first_offsets[0]

    @property
    def last_offset(self) -> int:
        """The last offset of all; there must be a batch."""
        return self._batches[self._first_offsets[-1]].last_offset

    def add(self, batch: InFlightBatch) -> None:
        """Add a batch."""
        insort(self._first_offsets, batch.first_offset)
        self._batches[batch.first_offset] = batch

    def remove_before(self, offset: int) -> None:
        """Remove the batches that end before an offset."""
        count = bisect_left(self._first_offsets, offset)
        if count and self._batches[self._first_offsets[count - 1]].last_offset >= offset:
            count -= 1
        for first_offset in self._first_offsets[:count]:
            del self._batches[first_offset]
        del self._first_offsets[:count]

    def floor(self, offset: int) -> InFlightBatch | None:
        """Return the last batch that begins at an offset or before it."""
        index = bisect_right(self._first_offsets, offset) - 1
        return None if index < 0 else self._batches[self._first_offsets[index]]

    def between(self, first_offset: int, last_offset: int) -> list[InFlightBatch]:
        """Return the batches with an offset in a range."""
        begin = bisect_right(self._first_offsets, first_offset) - 1
        if begin < 0 or not self._at(begin).contains(first_offset):
            begin += 1
        end = bisect_right(self._first_offsets, last_offset)
        return [self._at(index) for index in range(begin, end)]

    def first_available(self, gap_start_offset: int | None) -> int | None:
        """Return the first offset that is available, or in a gap that begins at an offset."""
        for batch in self:
            if gap_start_offset is not None:
                if batch.first_offset > gap_start_offset:
                    return gap_start_offset
                gap_start_offset = max(gap_start_offset, batch.last_offset + 1)
            for first_offset, _last, state in batch.states():
                if state.state is RecordState.AVAILABLE:
                    return first_offset
        return None

    def last_finished(self, gap_start_offset: int | None) -> int | None:
        """Return the last offset before the first one that is not finished, or in a gap."""
        found = None
        for batch in self:
            if gap_start_offset is not None and batch.last_offset >= gap_start_offset:
                return found
            for _first, last_offset, state in batch.states():
                if not state.state.is_final:
                    return found
                found = last_offset
        return found

    def finished_count(self, first_offset: int, last_offset: int) -> int:
        """Return how many offsets of a range are finished."""
        if last_offset < first_offset:
            return 0
        count = 0
        for batch in self.between(first_offset, last_offset):
            for first, last, state in batch.states():
                if state.state.is_final:
                    count += max(0, min(last, last_offset) - max(first, first_offset) + 1)
        return count

    def dead_letters(self, delivery_count_max: int) -> list[DeadLetters]:
        """Return the records that are archiving; the delivery count says why."""
        return [
            DeadLetters(
                first,
                last,
                state.delivery_count,
                DELIVERED_TOO_OFTEN if state.delivery_count >= delivery_count_max else REJECTED,
            )
            for batch in self
            for first, last, state in batch.states()
            if state.state is RecordState.ARCHIVING
        ]

    def archive(self, first_offset: int, last_offset: int, state: RecordState) -> int:
        """Archive the records of a range that are in one state; return how many there were."""
        archived_count = 0
        for batch in self.between(first_offset, last_offset):
            batch_state = batch.batch_state
            if batch_state is not None and batch_state.state is not state:
                continue
            if not batch.is_within(first_offset, last_offset):
                batch.split()
            for first, last, part in batch.states():
                if part.state is state and (
                    batch.batch_state is not None or first_offset <= first <= last_offset
                ):
                    part.finish(RecordState.ARCHIVED)
                    archived_count += last - first + 1
        return archived_count

    def acquired_states(self) -> Iterator[tuple[InFlightBatch, InFlightState]]:
        """Yield each acquired state with its batch; a batch must not be split between two."""
        for batch in self:
            for _first, _last, state in batch.states():
                if state.state is RecordState.ACQUIRED:
                    yield batch, state

    def _at(self, index: int) -> InFlightBatch:
        return self._batches[self._first_offsets[index]]
