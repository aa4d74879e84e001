"""The Kolmogorov-Smirnov distance, and the resolution of a clock."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.learning.distances import ks_distance, resolution_us, rounded

SAMPLES = st.lists(st.integers(-50, 50), min_size=1, max_size=30).map(np.array)


@given(SAMPLES, SAMPLES)
def test_the_distance_is_the_largest_difference_of_the_shares(
    first: np.ndarray[tuple[int], np.dtype[np.int64]],
    second: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> None:
    at_each = [abs((first <= x).mean() - (second <= x).mean()) for x in range(-51, 51)]
    assert ks_distance(first, second) == pytest.approx(max(at_each))
    assert ks_distance(first, second) == pytest.approx(ks_distance(second, first))


def test_equal_samples_have_no_distance_and_disjoint_ones_have_all() -> None:
    assert ks_distance(np.array([1, 2, 3]), np.array([3, 1, 2])) == 0
    assert ks_distance(np.array([1, 2]), np.array([5])) == 1
    with pytest.raises(ValueError, match="empty"):
        ks_distance(np.array([1]), np.array([], np.int64))


def test_times_are_rounded_to_the_resolution_of_the_trace() -> None:
    assert resolution_us(np.array([2_000_000, 5_000_000])) == 1_000_000
    assert resolution_us(np.array([2_000_000, 5_001_000])) == 1000
    assert resolution_us(np.array([2_000_001])) == resolution_us(np.array([], np.int64)) == 1
    assert rounded(np.array([1_999, 2_000]), 1000).tolist() == [1_000, 2_000]
