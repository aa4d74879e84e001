"""KIP-936: the quota on new producer ids per user and broker.

A quota of Q admits Q new ids at once, and then one more every Q-th of the window. A known id costs
nothing. ADR 9 has the decisions that the KIP leaves open.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil

from protocol.pacing import may_pause, paced
from quotas.counters import IDLE_MS, ClientCounters, ThrottlingQuotaManager
from quotas.layered_bloom_filter import LayerState
from quotas.limits import Limits
from quotas.metered_bucket import MeteredBucket
from quotas.metrics import Measurement, client_tags
from quotas.producer_id_cache import ProducerIdQuotaManagerCache

GROUP = "ProducerIds"
_NEVER_MS = (1 << 63) - 1


class _Counter(MeteredBucket):
    """The bucket of one user, and the rate of its admitted ids."""

    __slots__ = ("_window_seconds", "life_ms")

    def __init__(self, sample_count: int, window_seconds: int) -> None:
        super().__init__(sample_count, window_seconds * 1000)
        self._window_seconds = window_seconds
        self.life_ms = IDLE_MS

    def set_limit(self, limit: Fraction | None, now_ms: int) -> None:
        self.limit = limit
        if limit is None:
            self.remove_limit()
            return
        rate = limit / self._window_seconds
        # Zero tokens admit one more id, so a burst of Q - 1 admits Q.
        burst = max(Fraction(0), limit - 1)
        # A removed bucket is full again, so it may be removed only once it is full.
        self.life_ms = max(IDLE_MS, ceil((burst + 1) / rate * 1000))
        self.limit_to(rate, burst, now_ms)


class ProducerIdQuotaManager(ThrottlingQuotaManager[_Counter]):
    """A filter and a bucket for each user with such a quota, on one broker.

    A filter is removed with its last layer; a bucket after an hour without use, or later if it
    takes longer to fill.
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
        """Only the metric `rate` uses `sample_count` samples, each as long as the window.

        `new_seed` returns 16 random bytes: clients, who choose ids, must not know their hashes.
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
        """Whether any id is remembered or not yet expired."""
        return self._cache.next_expiry_ms is not None

    @property
    def next_expiry_ms(self) -> int | None:
        """When `expire` must run next; None if no id is tracked."""
        return self._cache.next_expiry_ms

    @property
    def bytes_held(self) -> int:
        """Size of all filters, in bytes."""
        return self._cache.bytes_held

    def track(self, user: str, producer_id: int, now_ms: int) -> int:
        """Admit a producer id (return 0), or refuse it and return the throttle time in ms.

        A known id is refreshed; a new one is added and charged; a refused one changes nothing. Ids
        of users without a quota are not tracked.
        """
        counter = self._counters.get(user, None, now_ms)
        if not counter.has_bucket:
            self._cache.forget_user(user)
            return 0
        if self._cache.contains_and_refresh(user, producer_id, now_ms):
            return 0
        throttle_time_ms = counter.try_charge(1, now_ms)
        if throttle_time_ms > 0:
            return throttle_time_ms
        self._cache.add(user, producer_id, now_ms)
        return 0

    def known_until_ms(self, user: str) -> int:
        """Return until when an id just admitted would be admitted again without effect; 0: unknown.

        A change of the limits ends that. Without a limit nothing else does.
        """
        return self._cache.known_until_ms(user) if self._is_limited(user) else _NEVER_MS

    def expire(self, now_ms: int) -> None:
        """Drop the layers whose window is over, and filters without layers."""
        self._cache.expire(now_ms)

    def _is_limited(self, user: str) -> bool:
        return self._limits.scope(user, None)[1] is not None

    @may_pause
    def _drop_unlimited(self) -> None:
        """Drop the filters of users whose quota was removed since their last request."""
        for user in paced(self._cache.users()):
            if not self._is_limited(user):
                self._cache.forget_user(user)

    def forget(self) -> None:
        """Remove all counters and filters, as at a broker's restart."""
        self._counters = ClientCounters(self._limits, self._make_counter)
        self._cache.clear()

    def note_throttle(
        self, user: str, client_id: str | None, throttle_time_ms: int, now_ms: int
    ) -> None:
        """Record a throttle time for the metric of the user; the client id does not count."""
        super().note_throttle(user, None, throttle_time_ms, now_ms)

    @may_pause
    def filters(self, now_ms: int) -> Iterator[tuple[str, list[LayerState]]]:
        """Yield users with the layers of their filters, newest first."""
        self._drop_unlimited()
        for user, layered in self._cache.filters():
            if layers := layered.layers(now_ms):
                yield user, layers

    @may_pause
    def measurements(self, now_ms: int) -> Iterator[Measurement]:
        """Yield KIP-936's `rate`, `tokens`, `throttle-time` and metrics of the filters by user."""
        self._drop_unlimited()
        yield Measurement(GROUP, "queue-size", {}, self.queue_size)
        for tags, counter in self._counters.live(now_ms):
            by_user = _user_tags(tags[0])
            if counter.has_bucket and self._is_limited(tags[0]):
                rate = counter.rate(now_ms) * self._window_seconds
                yield Measurement(GROUP, "rate", by_user, rate)
                yield Measurement(GROUP, "tokens", by_user, float(counter.tokens(now_ms)))
            if counter.throttle_time is not None:
                average = counter.throttle_time.average(now_ms)
                yield Measurement(GROUP, "throttle-time", by_user, average)
        for user, layered in self._cache.filters():
            by_user = _user_tags(user)
            for name, value in layered.state(now_ms)._asdict().items():
                yield Measurement(GROUP, name.replace("_", "-"), by_user, value)


def _user_tags(user: str) -> dict[str, str]:
    return {"user": client_tags((user, ""))["user"]}
