"""Intervals agree with published tables, and cover the true difference as often as they say."""

import numpy as np
import pytest

from loadgen.comparison.intervals import paired_interval, t_quantile, welch_interval


@pytest.mark.parametrize(
    ("confidence", "freedom", "expected"),
    [(0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 10, 2.228), (0.99, 4, 4.604), (0.9, 30, 1.697)],
)
def test_quantiles_are_those_of_the_published_table(
    confidence: float, freedom: float, expected: float
) -> None:
    assert t_quantile(confidence, freedom) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("method", [paired_interval, welch_interval])
def test_intervals_cover_the_true_difference_in_95_percent_of_samples(method: object) -> None:
    assert callable(method)
    generator = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        before, after = generator.normal(10, 2, 5), generator.normal(13, 2, 5)
        interval = method(before.tolist(), after.tolist(), 0.95)
        covered += interval.low <= 3 <= interval.high
    assert 180 <= covered <= 198


def test_pairs_remove_what_both_runs_of_a_seed_have_in_common() -> None:
    before, after = [10.0, 20.0, 30.0], [11.0, 21.1, 30.9]
    paired = paired_interval(before, after, 0.95)
    welch = welch_interval(before, after, 0.95)
    assert paired is not None
    assert welch is not None
    assert paired.low > 0 > welch.low


def test_one_value_has_no_interval() -> None:
    assert paired_interval([1.0], [2.0], 0.95) is None
    assert welch_interval([1.0], [2.0, 3.0], 0.95) is None


def test_equal_values_have_an_interval_without_width() -> None:
    assert welch_interval([1.0, 1.0], [3.0, 3.0], 0.95) == (2.0, 2.0)
