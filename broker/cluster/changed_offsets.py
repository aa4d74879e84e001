"""Where a log is not as it was written: what cleaning has changed, what was cut off its end."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple


class LogCut(NamedTuple):
    """A log lost its records from `offset` to before `end_offset` at a time.

    An election did it, of a replica that had not fetched them; or a test asked for it (`is_asked`).
    """

    offset: int
    end_offset: int
    time_ms: int
    is_asked: bool


class CleanedOffsets:
    """What the log cleaner has done with a log.

    `starts` and `ends` are ranges of offsets, ascending and apart, in which it removed records or
    wrote batches again; an end is exclusive.
    """

    __slots__ = ("ends", "first_dirty_offset", "starts")

    def __init__(self) -> None:
        self.first_dirty_offset = 0
        """Where the next cleaning begins: Kafka's checkpoint."""
        self.starts = array("q")
        self.ends = array("q")

    def has(self, offset: int) -> bool:
        """Return whether the batch that had an offset was removed or written again."""
        index = bisect_right(self.starts, offset) - 1
        return index >= 0 and offset < self.ends[index]

    def truncate(self, offset: int) -> None:
        """Forget what is behind `offset`, where the log ends now."""
        count = bisect_left(self.starts, offset)
        del self.starts[count:], self.ends[count:]
        if self.ends and self.ends[-1] > offset:
            self.ends[-1] = offset
        self.first_dirty_offset = min(self.first_dirty_offset, offset)

    def replace(self, ranges: Iterable[tuple[int, int]], first_dirty_offset: int) -> None:
        """Set the ranges, ascending ones that may touch, and where the next cleaning begins."""
        starts, ends = array("q"), array("q")
        for start, end in ranges:
            if ends and start <= ends[-1]:
                ends[-1] = max(end, ends[-1])
            else:
                starts.append(start)
                ends.append(end)
        self.starts, self.ends, self.first_dirty_offset = starts, ends, first_dirty_offset
