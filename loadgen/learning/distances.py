"""Compare two samples by the Kolmogorov-Smirnov distance."""

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64] | npt.NDArray[np.float64]


def ks_distance(recorded: Values, planned: Values) -> float:
    """Return the largest difference of both empirical distributions: 0 (equal) to 1.

    Raises:
        ValueError: a sample is empty.
    """
    if not len(recorded) or not len(planned):
        raise ValueError("a sample is empty")
    first, second = np.sort(recorded), np.sort(planned)
    points = np.concatenate([first, second])
    shares = [np.searchsorted(sample, points, "right") / len(sample) for sample in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


def resolution_us(times_us: npt.NDArray[np.int64]) -> int:
    """Return the largest of 1 s, 1 ms and 1 µs of which all times are multiples."""
    for unit_us in (1_000_000, 1000):
        if len(times_us) and not np.any(times_us % unit_us):
            return unit_us
    return 1


def rounded(times_us: npt.NDArray[np.int64], unit_us: int) -> npt.NDArray[np.int64]:
    """Return the times as a clock with this resolution would have them."""
    return times_us // unit_us * unit_us
