"""Confidence intervals of the difference between two means, by Student's t-distribution."""

from collections.abc import Sequence
from functools import cache
from math import pi, sqrt, tan
from statistics import fmean, variance
from typing import NamedTuple

import numpy as np

_ANGLES = 200_001


class Interval(NamedTuple):
    """The bounds of a difference, in the unit of the values."""

    low: float
    high: float


def paired_interval(
    before: Sequence[float], after: Sequence[float], confidence: float
) -> Interval | None:
    """Return the interval of the mean of `after[i] - before[i]`; None with fewer than two pairs."""
    differences = [new - old for old, new in zip(before, after, strict=True)]
    count = len(differences)
    if count < 2:
        return None
    half = t_quantile(confidence, count - 1) * sqrt(variance(differences) / count)
    middle = fmean(differences)
    return Interval(middle - half, middle + half)


def welch_interval(
    before: Sequence[float], after: Sequence[float], confidence: float
) -> Interval | None:
    """Return Welch's interval of `mean(after) - mean(before)`; None if a side has one value.

    The sides may have different variances and numbers of values.
    """
    if min(len(before), len(after)) < 2:
        return None
    middle = fmean(after) - fmean(before)
    parts = [(variance(side) / len(side), len(side) - 1) for side in (before, after)]
    total = sum(part for part, _ in parts)
    if not total:
        return Interval(middle, middle)
    freedom = total**2 / sum(part**2 / degrees for part, degrees in parts)
    half = t_quantile(confidence, freedom) * sqrt(total)
    return Interval(middle - half, middle + half)


@cache
def t_quantile(confidence: float, freedom: float) -> float:
    """Return the t with P(|T| < t) = `confidence` < 1, for `freedom` >= 1 degrees of freedom.

    With T = sqrt(freedom) * tan(angle) the density is proportional to cos(angle)^(freedom - 1).
    """
    angles = np.linspace(0, pi / 2, _ANGLES)
    density = np.cos(angles).clip(0) ** (freedom - 1)
    shares = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    angle = float(np.interp(confidence * shares[-1], shares, angles))
    return sqrt(freedom) * tan(angle)
