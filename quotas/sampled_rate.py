"""Kafka's rate over sampled windows (`Rate`, `SampledStat`), in exact arithmetic.

Values are whole numbers (bytes, ns, connections). A sample begins with the first value after the
previous sample spanned a window. Windows are not aligned to the clock; idle time has no samples.
Reading does not change the rate.
"""

from math import nan

from quotas.token_bucket import THROTTLE_MAX_MS

_FIELDS = 3
"""Fields of a sample in the flat list: start, time of the last value, sum of the values."""


class SampledRate:
    """The rate over the newest `sample_count` windows of `window_ms` each."""

    __slots__ = ("_bearing_ms", "_fields_max", "_samples", "_span_ms", "_total", "_window_ms")

    def __init__(self, sample_count: int, window_ms: int) -> None:
        self._window_ms = window_ms
        self._span_ms = sample_count * window_ms
        self._bearing_ms = (sample_count - 1) * window_ms
        self._fields_max = _FIELDS * (sample_count + 1)
        self._samples: list[int] = []
        self._total = 0

    def record(self, value: int, now_ms: int) -> None:
        """Add a value; a negative one undoes an earlier one."""
        samples = self._samples
        if samples and now_ms - samples[-3] < self._window_ms:
            samples[-2] = now_ms
            samples[-1] += value
        else:
            samples += (now_ms, now_ms, value)
            if len(samples) > self._fields_max:
                self._drop_oldest()
        self._total += value

    def total(self, now_ms: int) -> int:
        """Return the sum of the samples that have not expired."""
        samples = self._samples
        while samples and samples[1] <= now_ms - self._span_ms:
            self._drop_oldest()
        return self._total

    def window_ms(self, now_ms: int) -> int:
        """Return the time span of the total: at least all windows but one, to allow a burst."""
        samples = self._samples
        if samples and samples[1] <= now_ms - self._span_ms:
            self.total(now_ms)
        elapsed_ms = now_ms - samples[0] if samples else 0
        if elapsed_ms < self._bearing_ms:
            return self._bearing_ms + elapsed_ms % self._window_ms
        return elapsed_ms or 1

    def rate(self, now_ms: int) -> float:
        """Return the rate per second."""
        return self.total(now_ms) * 1000 / self.window_ms(now_ms)

    def throttle_time_ms(self, numerator: int, denominator: int, now_ms: int) -> int:
        """Return the wait in ms after which the rate is `numerator / denominator` per second.

        0 if it is not above that. Rounded half up, as in Kafka; after the wait the client may be
        throttled again, since a burst counts until its sample expires.
        """
        window_ms = self.window_ms(now_ms)
        excess = self._total * 1000 * denominator - numerator * window_ms
        if excess <= 0:
            return 0
        return min((2 * excess + numerator) // (2 * numerator), THROTTLE_MAX_MS)

    def _drop_oldest(self) -> None:
        self._total -= self._samples[2]
        del self._samples[:_FIELDS]


class SampledAverage:
    """The mean of the values of the newest windows (Kafka's `Avg`)."""

    __slots__ = ("_counts", "_sums")

    def __init__(self, sample_count: int = 2, window_ms: int = 30_000) -> None:
        """The defaults are those of Kafka's metrics other than quotas."""
        self._sums = SampledRate(sample_count, window_ms)
        self._counts = SampledRate(sample_count, window_ms)

    def record(self, value: int, now_ms: int) -> None:
        """Add a value."""
        self._sums.record(value, now_ms)
        self._counts.record(1, now_ms)

    def average(self, now_ms: int) -> float:
        """Return the mean; NaN without recent values."""
        count = self._counts.total(now_ms)
        return self._sums.total(now_ms) / count if count else nan
