"""Percentiles of counts in bins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.analysis.latencies import Latencies, bin_of
from tests.examples import examples

TIMES = st.lists(st.integers(1, 10**9), min_size=1, max_size=200)


def latencies_of(times_us: list[int]) -> Latencies:
    return Latencies((bin_of(time_us), 1) for time_us in times_us)


@settings(max_examples=examples(100))
@given(TIMES, st.floats(0, 1))
def test_a_percentile_is_exact_to_half_a_percent(times_us: list[int], share: float) -> None:
    rank = max(1, int(np.ceil(round(share * len(times_us), 6))))
    expected = sorted(times_us)[rank - 1]
    [found] = latencies_of(times_us).percentiles_us([share]) or []
    assert abs(found - expected) <= 0.006 * expected


@settings(max_examples=examples(50))
@given(TIMES, TIMES)
def test_parts_add_up(some: list[int], others: list[int]) -> None:
    shares = (0.5, 0.99)
    both = latencies_of(some) + latencies_of(others)
    assert both.percentiles_us(shares) == latencies_of(some + others).percentiles_us(shares)


def test_no_time_has_no_percentile() -> None:
    assert Latencies().percentiles_us([0.5]) is None


def test_times_below_a_microsecond_are_in_the_first_bin() -> None:
    assert bin_of(-5) == bin_of(0) == bin_of(1) == 0


def test_no_percentile_is_above_the_longest_time() -> None:
    # The middle of the bin of 1000 µs is above it.
    [found] = latencies_of([1000]).percentiles_us([0.5]) or []
    assert found == pytest.approx(1002.8, abs=0.1)
    assert latencies_of([1000]).percentiles_us([0.5], longest_us=1000) == [1000]
