"""Kafka's rate over sampled windows (`Rate`, `SampledStat`), in exact arithmetic.

Values are whole numbers (bytes, ns, connections). A sample begins with the first value after the
previous sample spanned a window. Windows are not aligned to the clock; idle time has no samples.
Reading does not change the rate.
"""

from functools import lru_cache
from math import nan

from quotas.token_bucket import THROTTLE_MAX_MS

_FIELDS = 3
"""Fields of an older sample: start, time of the last value, sum of the values."""

_NO_FIELDS: list[int] = []
"""Those of a rate without older samples; never changed."""

_NEVER_MS = -(2**63)
"""Start of the newest sample while there is none: long enough ago to have expired."""


class SampledRate:
    """The rate over the newest `sample_count` windows of `window_ms` each.

    The newest sample is in separate fields: most values change only these.
    """

    __slots__ = (
        "_bearing_ms",
        "_last_ms",
        "_older",
        "_older_fields_max",
        "_older_total",
        "_span_ms",
        "_start_ms",
        "_sum",
        "_window_ms",
        "ends_ms",
    )

    def __init__(self, sample_count: int, window_ms: int) -> None:
        self._window_ms, self._span_ms, self._bearing_ms, self._older_fields_max = _sizes(
            sample_count, window_ms
        )
        self._start_ms = self._last_ms = self.ends_ms = _NEVER_MS
        """`ends_ms` is when the newest sample ends: a later value begins another one."""
        self._sum = 0
        self._older = _NO_FIELDS
        self._older_total = 0

    def record(self, value: int, now_ms: int) -> None:
        """Add a value; a negative one undoes an earlier one."""
        if now_ms < self.ends_ms:
            self._last_ms = now_ms
            self._sum += value
        else:
            self._begin_sample(value, now_ms)

    def total(self, now_ms: int) -> int:
        """Return the sum of the samples that have not expired."""
        older = self._older
        if (older[1] if older else self._last_ms) <= now_ms - self._span_ms:
            self._expire(now_ms - self._span_ms)
        return self._older_total + self._sum

    def window_ms(self, now_ms: int) -> int:
        """Return the time span of the total: at least all windows but one, to allow a burst."""
        older = self._older
        if (older[1] if older else self._last_ms) <= now_ms - self._span_ms:
            self._expire(now_ms - self._span_ms)
            older = self._older
        start_ms = older[0] if older else self._start_ms
        elapsed_ms = now_ms - start_ms if start_ms != _NEVER_MS else 0
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
        total = self._older_total + self._sum
        excess = total * 1000 * denominator - numerator * window_ms
        if excess <= 0:
            return 0
        return min((2 * excess + numerator) // (2 * numerator), THROTTLE_MAX_MS)

    def _begin_sample(self, value: int, now_ms: int) -> None:
        start_ms = self._start_ms
        if start_ms != _NEVER_MS:
            older, total = self._older, self._sum
            self._older_total += total
            if not older:
                self._older = [start_ms, self._last_ms, total]
            else:
                older += (start_ms, self._last_ms, total)
                if len(older) > self._older_fields_max:
                    self._drop_oldest()
        self._start_ms = self._last_ms = now_ms
        self.ends_ms = now_ms + self._window_ms
        self._sum = value

    def _expire(self, latest_expired_ms: int) -> None:
        """Drop the samples whose last value was at this time or before."""
        while self._older and self._older[1] <= latest_expired_ms:
            self._drop_oldest()
        if not self._older and self._last_ms <= latest_expired_ms:
            self._start_ms = self._last_ms = _NEVER_MS
            self._sum = 0

    def _drop_oldest(self) -> None:
        older = self._older
        self._older_total -= older[2]
        del older[:_FIELDS]


@lru_cache(maxsize=64)
def _sizes(sample_count: int, window_ms: int) -> tuple[int, int, int, int]:
    """Return one window, all of them, and all but one, in ms; and the most fields of `_older`.

    All rates of a quota have the same numbers. If they share the objects, more clients fit into
    the processor's cache.
    """
    span_ms, bearing_ms = sample_count * window_ms, (sample_count - 1) * window_ms
    return window_ms, span_ms, bearing_ms, _FIELDS * sample_count


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
