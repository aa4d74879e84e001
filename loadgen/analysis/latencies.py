"""Percentiles of times that arrive in parts: counts in bins, which can be added up."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import floor, log

GROWTH = 1.01
"""Each bin is 1 % wider than the one below: a percentile is exact to 0.5 %."""


def bin_of(time_us: float) -> int:
    """Return the bin of a time, as the queries do with `ln(GROWTH)`."""
    return floor(log(max(1.0, time_us)) / log(GROWTH))


def time_of(number: int) -> float:
    """Return the time in µs that stands for a bin."""
    return float(GROWTH ** (number + 0.5))


class Latencies:
    """The number of times in each bin; there are at most 2800 bins up to an hour and more."""

    def __init__(self, counts: Iterable[tuple[int, int]] = ()) -> None:
        """Begin with pairs of bin and count."""
        self.counts: Counter[int] = Counter()
        for number, count in counts:
            self.counts[number] += count

    def add(self, number: int, count: int) -> None:
        """Add `count` times to a bin."""
        self.counts[number] += count

    def percentiles_us(
        self, shares: Sequence[float], longest_us: float | None = None
    ) -> list[float] | None:
        """Return the time that each share of all times does not exceed; None without any.

        `longest_us` is the longest of the times if it is known: no percentile is above it.
        """
        total = self.counts.total()
        if not total:
            return None
        found = []
        for share in shares:
            rank, number = max(1.0, share * total), 0
            for number in sorted(self.counts):
                rank -= self.counts[number]
                if rank <= 0:
                    break
            found.append(time_of(number))
        return found if longest_us is None else [min(time_us, longest_us) for time_us in found]

    def __add__(self, other: "Latencies") -> "Latencies":
        both = Latencies()
        both.counts = self.counts + other.counts
        return both
