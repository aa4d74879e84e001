"""KIP-599: how many partitions a client may have created and deleted, over the whole cluster.

Source: Kafka's `ControllerMutationQuotaManager`, with the token bucket of `quotas.token_bucket`.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quotas.idle import add_counter, is_idle
from quotas.limits import Limits, Tags
from quotas.metrics import Measurement, client_tags
from quotas.sampled_rate import SampledAverage, SampledRate
from quotas.token_bucket import TokenBucket

if TYPE_CHECKING:
    from fractions import Fraction

GROUP = "ControllerMutation"


class _Counter:
    """What is kept of one scope. Without a limit there is no bucket; with a new one it is full."""

    __slots__ = ("bucket", "last_used_ms", "limit", "rate", "throttle_time")

    def __init__(self, rate: SampledRate) -> None:
        self.bucket: TokenBucket | None = None
        self.limit: Fraction | None = None
        self.last_used_ms = 0
        self.rate = rate
        self.throttle_time: SampledAverage | None = None


class ControllerMutationQuota:
    """The quota of one request, for a client that has none: everything passes."""

    __slots__ = ()

    def charge(self, mutation_count: int, now_ms: int) -> bool:
        """Whether so many partitions may be created or deleted; they are charged if so."""
        return True

    def throttle_time_ms(self, now_ms: int) -> int:
        """How long the client has to pause after this request; 0 when it need not."""
        return 0


class _Limited(ControllerMutationQuota):
    """Keeps the wait of the last violation; it passes while the request waits, too."""

    __slots__ = ("_client_id", "_manager", "_throttle_ms", "_throttled_ms", "_user")

    def __init__(
        self, manager: "ControllerMutationQuotaManager", user: str, client_id: str | None
    ) -> None:
        self._manager = manager
        self._user = user
        self._client_id = client_id
        self._throttle_ms = 0
        self._throttled_ms = 0

    def throttle_time_ms(self, now_ms: int) -> int:
        return max(0, self._throttle_ms - (now_ms - self._throttled_ms))

    def _violated(self, throttle_ms: int, now_ms: int) -> None:
        self._throttle_ms = throttle_ms
        self._throttled_ms = now_ms


class StrictQuota(_Limited):
    """Refuses, and charges nothing, while the bucket is below zero.

    What takes the bucket below zero passes unthrottled: the next one pays.
    """

    __slots__ = ()

    def charge(self, mutation_count: int, now_ms: int) -> bool:
        """False while the bucket is below zero."""
        throttle_ms = self._manager.try_charge(self._user, self._client_id, mutation_count, now_ms)
        if throttle_ms > 0:
            self._violated(throttle_ms, now_ms)
        return throttle_ms == 0


class PermissiveQuota(_Limited):
    """Refuses nothing, for versions that know no such error; the client is throttled at once."""

    __slots__ = ()

    def charge(self, mutation_count: int, now_ms: int) -> bool:
        """Always True."""
        throttle_ms = self._manager.charge(self._user, self._client_id, mutation_count, now_ms)
        if throttle_ms > 0:
            self._violated(throttle_ms, now_ms)
        return True


_UNBOUNDED = ControllerMutationQuota()


class ControllerMutationQuotaManager:
    """One bucket for each scope; `burst_seconds` is the number of samples times their length."""

    def __init__(self, limits: Limits, sample_count: int, window_seconds: int) -> None:
        self._limits = limits
        self._sample_count = sample_count
        self._window_ms = window_seconds * 1000
        self._burst_seconds = sample_count * window_seconds
        self._counters: OrderedDict[Tags, _Counter] = OrderedDict()
        self.queue_size = 0
        """Connections that are muted now on this quota's account."""

    @property
    def is_enabled(self) -> bool:
        """Whether such a quota was ever set for anybody."""
        return self._limits.is_enabled

    def quota_for(
        self, user: str, client_id: str | None, *, is_strict: bool
    ) -> ControllerMutationQuota:
        """The quota for one request of a client; strict since the version that knows the error."""
        if not self._limits.is_enabled:
            return _UNBOUNDED
        kind = StrictQuota if is_strict else PermissiveQuota
        return kind(self, user, client_id)

    def try_charge(self, user: str, client_id: str | None, cost: int, now_ms: int) -> int:
        """Charge unless the bucket is below zero: then how long it is, in ms, and no charge."""
        counter = self._counter(user, client_id, now_ms)
        if counter.bucket is not None:
            throttle_ms = counter.bucket.try_charge(cost, now_ms)
            if throttle_ms > 0:
                return throttle_ms
        counter.rate.record(cost, now_ms)
        return 0

    def charge(self, user: str, client_id: str | None, cost: int, now_ms: int) -> int:
        """Charge in any case; how long the bucket is below zero after it, in ms."""
        counter = self._counter(user, client_id, now_ms)
        counter.rate.record(cost, now_ms)
        return 0 if counter.bucket is None else counter.bucket.charge(cost, now_ms)

    def note_throttle(
        self, user: str, client_id: str | None, throttle_time_ms: int, now_ms: int
    ) -> None:
        """Count a pause that a client was told to make, for the metric."""
        counter = self._counter(user, client_id, now_ms)
        if counter.throttle_time is None:
            counter.throttle_time = SampledAverage()
        counter.throttle_time.record(throttle_time_ms, now_ms)

    def measurements(self, now_ms: int) -> Iterator[Measurement]:
        """`mutation-rate`, `tokens`, `throttle-time` by scope, and `queue-size`."""
        yield Measurement(GROUP, "queue-size", {}, self.queue_size)
        for scope_tags, counter in self._counters.items():
            if is_idle(counter, now_ms):
                continue
            tags = client_tags(scope_tags)
            yield Measurement(GROUP, "mutation-rate", tags, counter.rate.rate(now_ms))
            if counter.bucket is not None:
                tokens = float(counter.bucket.tokens(now_ms))
                yield Measurement(GROUP, "tokens", tags, tokens)
            if counter.throttle_time is not None:
                average = counter.throttle_time.average(now_ms)
                yield Measurement(GROUP, "throttle-time", tags, average)

    def _counter(self, user: str, client_id: str | None, now_ms: int) -> _Counter:
        tags, limit = self._limits.scope(user, client_id)
        counter = self._counters.get(tags)
        if counter is None or is_idle(counter, now_ms):
            counter = _Counter(SampledRate(self._sample_count, self._window_ms))
            add_counter(self._counters, tags, counter, now_ms)
        counter.last_used_ms = now_ms
        if counter.limit is not limit:
            self._set_limit(counter, limit, now_ms)
        return counter

    def _set_limit(self, counter: _Counter, limit: "Fraction | None", now_ms: int) -> None:
        counter.limit = limit
        if limit is None:
            counter.bucket = None
        elif counter.bucket is None:
            counter.bucket = TokenBucket(limit, limit * self._burst_seconds, now_ms)
        else:
            counter.bucket.set_rate(limit, limit * self._burst_seconds)
