"""Percentiles of times that arrive in parts: counts in bins, which can be added up."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import floor, log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

GROWTH = 1.01
"""Each bin is 1 % wider than the one below: a percentile is exact to 0.5 %."""


def bin_of(time_us: float) -> int:
    """Return the bin of a time, as the queries do with `ln(GROWTH)`."""
    return floor(log(max(1.0, time_us)) / log(GROWTH))


def time_of(number: int) -> float:
    """Return the time in µs that stands for a bin."""
    return float(GROWTH ** (int(number) + 0.5))


class BinCounts(NamedTuple):
    """The number of times in each bin, in six bytes for each bin with any."""

    bins: npt.NDArray[np.int16]
    """In their order."""
    numbers: npt.NDArray[np.integer]

    @property
    def counts(self) -> Counter[int]:
        """The same as a mapping, which the caller may change."""
        return Counter(dict(zip(self.bins.tolist(), self.numbers.tolist(), strict=True)))

    def percentiles_us(
        self, shares: Sequence[float], longest_us: float | None = None
    ) -> list[float] | None:
        """Return what `Latencies.percentiles_us` does."""
        if not len(self.bins):
            return None
        until_here = np.cumsum(self.numbers, dtype=np.int64)
        total = int(until_here[-1])
        ranks = [min(total, max(1.0, share * total)) for share in shares]
        found = [time_of(number) for number in self.bins[np.searchsorted(until_here, ranks)]]
        return found if longest_us is None else [min(time_us, longest_us) for time_us in found]


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
        pairs = sorted((number, count) for number, count in self.counts.items() if count)
        bins, numbers = np.array(pairs, np.int64).reshape(-1, 2).T
        return BinCounts(bins.astype(np.int16), numbers).percentiles_us(shares, longest_us)

    def __add__(self, other: "Latencies") -> "Latencies":
        both = Latencies()
        both.counts = self.counts + other.counts
        return both
