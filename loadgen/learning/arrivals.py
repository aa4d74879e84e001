"""Find the arrival process that recorded times come from: Poisson, constant or bursts."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]

_REGULAR_MAX = 0.35
"""The largest coefficient of variation of the intervals of regular bursts."""
_DISPERSION_MAX = 0.35
"""The largest index of dispersion (variance of counts by their mean) of constant arrivals; that of
a Poisson process is 1. A busy broker reads requests late and together, which changes gaps more."""
_WINDOWS = 25
_EVENTS_PER_WINDOW_MIN = 5
_WINDOWS_MIN = 8
_BURSTS_MIN = 5
_EVENTS_PER_BURST_MIN = 3
_EDGE_SHARE = 0.02
"""A tenant that starts or stops within this share of the trace's ends runs for all of it."""


class Arrivals(NamedTuple):
    """The fields of a tenant for its arrivals; times in seconds from the start of the plan."""

    arrival: str
    rate: float
    start_s: float | None
    stop_s: float | None
    burst_every_s: float | None


def span_us(times_us: Times) -> tuple[int, int]:
    """Return where sorted times begin and end: half a gap before the first and after the last.

    Events of a process with equal rate are spread like that over its time. Bursts end one whole
    interval after the last one began.
    """
    first, last = int(times_us[0]), int(times_us[-1])
    if len(times_us) == 1:
        return first, first + 1
    interval = _burst_interval_us(times_us)
    if interval is not None:
        return first, int(_burst_starts(times_us)[-1] + interval)
    half = (last - first) // (len(times_us) - 1) // 2
    return first - half, last + max(1, half)


def arrivals_of(times_us: Times, zero_us: int, end_us: int) -> Arrivals:
    """Return the process of sorted times in a plan from `zero_us` to `end_us`."""
    begin, end = span_us(times_us)
    edge = (end_us - zero_us) * _EDGE_SHARE
    is_first, is_last = begin - zero_us <= edge, end_us - end <= edge
    begin, end = (zero_us if is_first else begin), (end_us if is_last else end)
    rate = len(times_us) * 1e6 / (end - begin)
    start_s = None if is_first else round((begin - zero_us) / 1e6, 3)
    stop_s = None if is_last else round((end - zero_us) / 1e6, 3)
    interval = _burst_interval_us(times_us)
    if interval is not None:
        return Arrivals("burst", rate, start_s, stop_s, round(interval / 1e6, 3))
    is_constant = _dispersion(times_us) <= _DISPERSION_MAX
    return Arrivals("constant" if is_constant else "poisson", rate, start_s, stop_s, None)


def _dispersion(times_us: Times) -> float:
    """Return the index of dispersion of the counts in equal windows; 1 for few events."""
    windows = min(_WINDOWS, len(times_us) // _EVENTS_PER_WINDOW_MIN)
    if windows < _WINDOWS_MIN or times_us[-1] - times_us[0] < windows:
        return 1.0
    counts, _ = np.histogram(times_us, bins=windows)
    return float(counts.var() / counts.mean())


def _burst_starts(times_us: Times) -> Times:
    """Return the times after a long gap: longer than the geometric mean of mean and maximum."""
    gaps = np.diff(times_us)
    is_start: npt.NDArray[np.bool_] = np.append(True, gaps > np.sqrt(gaps.mean() * gaps.max()))
    starts: Times = times_us[is_start]
    return starts


def _burst_interval_us(times_us: Times) -> float | None:
    """Return the time from burst to burst; None if there are no regular bursts."""
    if len(times_us) < _BURSTS_MIN * _EVENTS_PER_BURST_MIN:
        return None
    starts = _burst_starts(times_us)
    if len(starts) < _BURSTS_MIN or len(times_us) < len(starts) * _EVENTS_PER_BURST_MIN:
        return None
    intervals = np.diff(starts)
    if intervals.std() > _REGULAR_MAX * intervals.mean():
        return None
    return float(intervals.mean())
