"""The sequence numbers of one producer id and epoch that a partition's log holds.

Sequence numbers wrap to 0 after 2^31-1. Positions do not wrap: that of the first batch is its
sequence, that of any other is computed from its distance to the newest one.
"""

from bisect import bisect_right

from producer_state.rules import SEQUENCE_MAX

_HALF = (SEQUENCE_MAX + 1) // 2


class StoredSequences:
    """A union of ranges of positions; batches are added in log order."""

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        # Ranges that neither overlap nor touch, ascending; ends are exclusive.
        self._starts: list[int] = []
        self._ends: list[int] = []

    @property
    def first(self) -> int:
        """The lowest position; there must be one."""
        return self._starts[0]

    @property
    def newest_sequence(self) -> int:
        """The sequence number of the highest position; -1 before there is any."""
        return (self._ends[-1] - 1) & SEQUENCE_MAX if self._ends else -1

    def add(self, base_sequence: int, count: int) -> tuple[int, bool]:
        """Add a batch of `count` records.

        Return how many of its positions were stored already, and whether it begins after the
        highest one.
        """
        start = self._position(base_sequence)
        end = start + count
        is_behind = bool(self._ends) and start < self._ends[-1]
        # From the first range that ends at or after the start, to the last that begins by the end.
        first = bisect_right(self._ends, start - 1)
        last = bisect_right(self._starts, end)
        overlap = sum(
            max(0, min(end, self._ends[n]) - max(start, self._starts[n]))
            for n in range(first, last)
        )
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
        return overlap, is_behind

    def first_missing(self, base_sequence: int, count: int) -> int | None:
        """The lowest position of these `count` sequence numbers that is not there, or None."""
        start = self._position(base_sequence)
        index = bisect_right(self._starts, start) - 1
        reached = start if index < 0 else max(start, self._ends[index])
        return None if reached >= start + count else reached

    def _position(self, sequence: int) -> int:
        if not self._ends:
            return sequence
        next_position = self._ends[-1]
        ahead = (sequence - next_position) & SEQUENCE_MAX
        return next_position + (ahead if ahead < _HALF else ahead - SEQUENCE_MAX - 1)
