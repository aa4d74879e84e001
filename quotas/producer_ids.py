"""KIP-936: how many producer ids a user may bring to one broker.

A quota of Q admits Q ids that were not seen of late at once, and then one more every Q-th of the
window. An id that is known passes and costs nothing. What the KIP leaves open is in ADR 9.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil

from quotas.counters import IDLE_MS, ClientCounters, ThrottlingQuotaManager
from quotas.layered_bloom_filter import LayerState
from quotas.limits import Limits
from quotas.metrics import Measurement, client_tags
from quotas.producer_id_cache import ProducerIdQuotaManagerCache
from quotas.sampled_rate import SampledAverage, SampledRate
from quotas.token_bucket import TokenBucket

GROUP = "ProducerIds"


class _Counter(SampledRate):
    """The bucket of one user, and the rate of the new ids that it let pass."""

    __slots__ = (
        "_window_seconds",
        "bucket",
        "last_used_ms",
        "life_ms",
        "limit",
        "throttle_time",
    )

    def __init__(self, sample_count: int, window_seconds: int) -> None:
        super().__init__(sample_count, window_seconds * 1000)
        self._window_seconds = window_seconds
        self.bucket: TokenBucket | None = None
        self.limit: Fraction | None = None
        self.last_used_ms = 0
        self.life_ms = IDLE_MS
        self.throttle_time: SampledAverage | None = None

    def set_limit(self, limit: Fraction | None, now_ms: int) -> None:
        self.limit = limit
        if limit is None:
            self.bucket = None
            return
        rate = limit / self._window_seconds
        # Zero tokens let one more pass: with one less than the quota, as many as the quota do.
        burst = max(Fraction(0), limit - 1)
        # A bucket that is forgotten is full again, so it has to be full by itself before.
        self.life_ms = max(IDLE_MS, ceil((burst + 1) / rate * 1000))
        if self.bucket is None:
            self.bucket = TokenBucket(rate, burst, now_ms)
        else:
            self.bucket.set_rate(rate, burst)


class ProducerIdQuotaManager(ThrottlingQuotaManager[_Counter]):
    """A filter and a bucket for each user of one broker that has such a quota.

    A filter goes with its last layer, a bucket after an hour without use, or once it is full if
    that takes longer.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        sample_count: int,
        window_seconds: int,
        layer_count: int,
        false_positive_rate: float,
        new_seed: Callable[[], bytes],
    ) -> None:
        """The samples are those of the reported rate alone, each as long as the window.

        `new_seed` gives 16 random bytes: the hashes of ids must not be known to those who choose
        the ids. It is asked once now and once at every `forget`.
        """
        self._limits = limits
        self._window_seconds = window_seconds
        self._make_counter = lambda: _Counter(sample_count, window_seconds)
        self._counters = ClientCounters(limits, self._make_counter)
        self._cache = ProducerIdQuotaManagerCache(
            window_ms=window_seconds * 1000,
            layer_count=layer_count,
            false_positive_rate=false_positive_rate,
            new_seed=new_seed,
        )

    @property
    def is_tracking(self) -> bool:
        """Whether any id is remembered, or was and has not yet expired."""
        return self._cache.next_expiry_ms is not None

    @property
    def next_expiry_ms(self) -> int | None:
        """When `expire` may have something to do; None when no id is tracked."""
        return self._cache.next_expiry_ms

    @property
    def bytes_held(self) -> int:
        """Size of the filters of all users."""
        return self._cache.bytes_held

    def track(self, user: str, producer_id: int, now_ms: int) -> int:
        """Let a producer id pass (0), or refuse it and say in how many ms one will.

        A known id is remembered anew, a new one is added and charged; a refused one leaves no
        trace. Users without a quota pass untracked.
        """
        counter = self._counters.get(user, None, now_ms)
        bucket = counter.bucket
        if bucket is None:
            self._cache.forget_user(user)
            return 0
        if self._cache.contains_and_refresh(user, producer_id, now_ms):
            return 0
        throttle_time_ms = bucket.try_charge(1, now_ms)
        if throttle_time_ms > 0:
            return throttle_time_ms
        self._cache.add(user, producer_id, now_ms)
        counter.record(1, now_ms)
        return 0

    def known_until_ms(self, user: str) -> int:
        """Until when an id that has just passed does so again, without any effect; 0 is unknown.

        Unless the limits change.
        """
        return self._cache.known_until_ms(user)

    def expire(self, now_ms: int) -> None:
        """Drop the layers whose window is over, and the filters that have none left."""
        self._cache.expire(now_ms)

    def _is_limited(self, user: str) -> bool:
        return self._limits.scope(user, None)[1] is not None

    def _drop_unlimited(self) -> None:
        """Empty the filters of users whose quota was taken away and who have not come since."""
        for user in self._cache.users():
            if not self._is_limited(user):
                self._cache.forget_user(user)

    def forget(self) -> None:
        """Begin anew, as a broker does that was stopped and started."""
        self._counters = ClientCounters(self._limits, self._make_counter)
        self._cache.clear()

    def note_throttle(
        self, user: str, client_id: str | None, throttle_time_ms: int, now_ms: int
    ) -> None:
        """Record a throttle time for the metric of the user; the client id does not count."""
        super().note_throttle(user, None, throttle_time_ms, now_ms)

    def filters(self, now_ms: int) -> Iterator[tuple[str, list[LayerState]]]:
        """The users whose ids are remembered, with the layers of their filters, newest first."""
        self._drop_unlimited()
        for user, layered in self._cache.filters():
            if layers := layered.layers(now_ms):
                yield user, layers

    def measurements(self, now_ms: int) -> Iterator[Measurement]:
        """The KIP's `rate`, `tokens`, `throttle-time` by user, and what their filters are like."""
        self._drop_unlimited()
        yield Measurement(GROUP, "queue-size", {}, self.queue_size)
        for tags, counter in self._counters.live(now_ms):
            by_user = _user_tags(tags[0])
            if counter.bucket is not None and self._is_limited(tags[0]):
                rate = counter.rate(now_ms) * self._window_seconds
                yield Measurement(GROUP, "rate", by_user, rate)
                yield Measurement(GROUP, "tokens", by_user, float(counter.bucket.tokens(now_ms)))
            if counter.throttle_time is not None:
                average = counter.throttle_time.average(now_ms)
                yield Measurement(GROUP, "throttle-time", by_user, average)
        for user, layered in self._cache.filters():
            by_user = _user_tags(user)
            for name, value in layered.state(now_ms)._asdict().items():
                yield Measurement(GROUP, name.replace("_", "-"), by_user, value)


def _user_tags(user: str) -> dict[str, str]:
    return {"user": client_tags((user, ""))["user"]}
