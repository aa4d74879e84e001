"""A token bucket and the rate of what it was charged, in one object.

A decision is about one of very many clients, so much of its time is for memory that is not in the
processor's cache. One object instead of two needs less of it.
"""

from typing import TYPE_CHECKING

from quotas.sampled_rate import SampledAverage, SampledRate
from quotas.token_bucket import Bucket

if TYPE_CHECKING:
    from fractions import Fraction


class MeteredBucket(SampledRate, Bucket):
    """The counter of one scope: a rate, and a bucket as long as there is a limit."""

    __slots__ = (
        "_balance",
        "_refilled_ms",
        "_units",
        "last_used_ms",
        "limit",
        "throttle_time",
    )

    def __init__(self, sample_count: int, window_ms: int) -> None:
        super().__init__(sample_count, window_ms)
        self._balance = self._refilled_ms = 0
        self._units = ()
        self.limit: Fraction | None = None
        self.last_used_ms = 0
        self.throttle_time: SampledAverage | None = None

    @property
    def has_bucket(self) -> bool:
        """Whether there is a bucket: a limit was set and not removed."""
        return bool(self._units)

    def limit_to(self, rate: "Fraction", burst: "Fraction", now_ms: int) -> None:
        """Give the bucket this rate and burst; without one before it is full."""
        if self._units:
            self.set_rate(rate, burst)
        else:
            self.fill(rate, burst, now_ms)

    def remove_limit(self) -> None:
        """Remove the bucket."""
        self._units = ()

    # Hot path: `Bucket.try_charge` and `SampledRate.record`, inlined on purpose.
    def try_charge(self, cost: int, now_ms: int) -> int:
        """Charge and record `cost`, and return 0; or, below zero, do neither and return the wait.

        Without a bucket everything is recorded.
        """
        units = self._units
        if units:
            scale, refill, capacity = units
            balance = self._balance
            passed_ms = now_ms - self._refilled_ms
            if passed_ms > 0:
                balance += passed_ms * refill
                self._refilled_ms = now_ms
            if balance > capacity:  # noqa: PLR1730 - a call of min takes three times as long
                balance = capacity
            if balance < 0:
                self._balance = balance
                return self._wait_ms(balance)
            self._balance = balance - cost * scale
        if now_ms - self._start_ms < self._window_ms:
            self._last_ms = now_ms
            self._sum += cost
        else:
            self._begin_sample(cost, now_ms)
        return 0

    def charge(self, cost: int, now_ms: int) -> int:
        """Charge and record `cost` in any case, and return the wait, as `Bucket.charge` does."""
        self.record(cost, now_ms)
        return super().charge(cost, now_ms) if self._units else 0
