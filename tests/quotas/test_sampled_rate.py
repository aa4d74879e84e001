from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.sampled_rate import SampledAverage, SampledRate


def throttles(
    quota: int, records: list[tuple[int, int]], sample_count: int = 11
) -> tuple[list[int], SampledRate]:
    """Return the throttle time after each record of (ms, value), with windows of one second."""
    rate = SampledRate(sample_count, 1000)
    waits_ms = []
    for now_ms, value in records:
        rate.record(value, now_ms)
        waits_ms.append(rate.throttle_time_ms(quota, 1, now_ms))
    return waits_ms, rate


@pytest.mark.parametrize(
    ("records", "rate", "window_ms", "throttle_ms"),
    [
        ([(0, 10_000)], 1000, 10_000, [0]),
        ([(0, 10_001)], 1000.1, 10_000, [1]),
        ([(0, 12_000)], 1200, 10_000, [2000]),
        ([(0, 20_000)], 2000, 10_000, [10_000]),
        ([(0, 8000), (250, 4000)], 1170.73, 10_250, [0, 1750]),
        ([(0, 20_000), (10_000, 0)], 2000, 10_000, [10_000, 10_000]),
        (
            [(0, 20_000), (10_000, 0), (10_999, 0)],
            1818.3,
            10_999,
            [10_000, 10_000, 9001],
        ),
    ],
)
def test_a_rate_and_its_throttle(
    records: list[tuple[int, int]], rate: float, window_ms: int, throttle_ms: list[int]
) -> None:
    waits_ms, measured = throttles(1000, records)

    assert waits_ms == throttle_ms
    assert measured.window_ms(records[-1][0]) == window_ms
    assert measured.rate(records[-1][0]) == pytest.approx(rate, abs=0.05)


def test_a_burst_expires_with_its_sample() -> None:
    waits_ms, rate = throttles(1000, [(0, 20_000), (10_999, 0), (11_000, 0)])

    assert waits_ms == [10_000, 9001, 0]
    assert rate.rate(11_000) == 0


def test_a_violation_lasts_until_the_sample_of_the_burst_expires() -> None:
    records = [(second * 1000, 400) for second in range(10)] + [(10_500, 2300)]
    waits_ms, rate = throttles(500, records)
    assert waits_ms == [0] * 10 + [2100]
    assert (rate.rate(10_500), rate.window_ms(10_500)) == (600, 10_500)

    waits_ms, rates = [], []
    now_ms = 10_500 + 2100
    for _ in range(10):
        rate.record(400, now_ms)
        waits_ms.append(rate.throttle_time_ms(500, 1, now_ms))
        rates.append(rate.rate(now_ms))
        now_ms += 1000
    assert waits_ms == [1200] * 8 + [1700, 0]
    assert (round(rates[0], 1), rates[-1]) == (556.6, 400)
    rate.record(0, now_ms)
    assert rate.throttle_time_ms(500, 1, now_ms) == 0


@pytest.mark.parametrize(
    ("quota", "sample_count", "observed", "window_ms", "throttle_ms"),
    [(50, 3, 100, 2000, 2000), (50, 2, 55, 1000, 100), (50, 2, 50, 1000, 0)],
)
def test_the_window_has_a_minimum_length_at_the_start(
    quota: int, sample_count: int, observed: int, window_ms: int, throttle_ms: int
) -> None:
    rate = SampledRate(sample_count, 1000)
    assert rate.window_ms(0) == window_ms
    rate.record(observed * window_ms // 1000, 0)

    assert rate.throttle_time_ms(quota, 1, 0) == throttle_ms


def test_one_sample_alone_has_a_window_of_a_millisecond_at_least() -> None:
    assert SampledRate(1, 1000).window_ms(0) == 1


def test_half_a_millisecond_is_rounded_up_and_less_is_not() -> None:
    rate = SampledRate(2, 1000)
    rate.record(31, 0)
    assert rate.throttle_time_ms(30, 1, 0) == 33
    rate.record(1970, 0)
    assert rate.throttle_time_ms(2000, 1, 0) == 1


def test_a_value_can_be_undone() -> None:
    waits_ms, rate = throttles(1000, [(0, 20_000), (0, -20_000)])

    assert waits_ms == [10_000, 0]
    assert rate.rate(0) == 0


@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.integers(0, 3000), st.integers(-100, 1000)), min_size=1),
)
def test_the_samples_are_those_of_kafkas_ring(
    sample_count: int, steps: list[tuple[int, int]]
) -> None:
    rate, ring = SampledRate(sample_count, 1000), Ring(sample_count, 1000)
    now_ms = 1_000_000
    for pause_ms, value in steps:
        now_ms += pause_ms
        rate.total(now_ms - pause_ms // 2)
        rate.record(value, now_ms)
        ring.record(value, now_ms)
        assert (rate.total(now_ms), rate.window_ms(now_ms)) == ring.measure(now_ms)


class Ring:
    """Kafka's `SampledStat`: a ring of samples that are reset in place."""

    def __init__(self, sample_count: int, window_ms: int) -> None:
        self.sample_count, self.window_ms = sample_count, window_ms
        self.samples: list[list[int]] = []
        self.current = 0

    def record(self, value: int, now_ms: int) -> None:
        if not self.samples:
            self.samples.append([now_ms, now_ms, 0])
        if now_ms - self.samples[self.current][0] >= self.window_ms:
            self.current = (self.current + 1) % (self.sample_count + 1)
            if self.current >= len(self.samples):
                self.samples.append([now_ms, now_ms, 0])
            else:
                self.samples[self.current] = [now_ms, now_ms, 0]
        self.samples[self.current][1] = now_ms
        self.samples[self.current][2] += value

    def measure(self, now_ms: int) -> tuple[int, int]:
        for sample in self.samples:
            if now_ms - sample[1] >= self.sample_count * self.window_ms:
                sample[:] = [now_ms, now_ms, 0]
        elapsed_ms = now_ms - min(sample[0] for sample in self.samples)
        missing = self.sample_count - 1 - elapsed_ms // self.window_ms
        elapsed_ms += max(0, missing) * self.window_ms
        return sum(sample[2] for sample in self.samples), max(elapsed_ms, 1)


def test_an_average_is_of_recent_values_only() -> None:
    average = SampledAverage()
    assert isnan(average.average(0))
    average.record(100, 0)
    average.record(300, 10)

    assert average.average(10) == 200
    assert isnan(average.average(60_010))
