"""KIP-599: the quota on partitions created and deleted per client, for the whole cluster.

Source: Kafka's `ControllerMutationQuotaManager`, with the buckets of `quotas.token_bucket`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from protocol.pacing import may_pause
from quotas.counters import IDLE_MS, ClientCounters, ThrottlingQuotaManager
from quotas.limits import Limits
from quotas.metered_bucket import MeteredBucket
from quotas.metrics import Measurement, client_tags

if TYPE_CHECKING:
    from fractions import Fraction

GROUP = "ControllerMutation"


class _Counter(MeteredBucket):
    """The rate and bucket of one scope. Without a limit it has no bucket; a new limit fills one."""

    __slots__ = ()

    @property
    def life_ms(self) -> int:
        """A bucket with a large debt takes longer than an hour to fill."""
        if not self.has_bucket:
            return IDLE_MS
        return max(IDLE_MS, self.full_in_ms(self.last_used_ms))

    def set_limit(self, limit: "Fraction | None", now_ms: int) -> None:
        self.limit = limit
        if limit is None:
            self.remove_limit()
        else:
            self.limit_to(limit, limit * self._span_ms / 1000, now_ms)


class ControllerMutationQuota:
    """The quota of one request of a client without a quota: everything passes."""

    __slots__ = ()

    def charge(self, mutation_count: int, now_ms: int) -> bool:
        """Charge partition mutations; return False, without a charge, if they are refused."""
        return True

    def throttle_time_ms(self, now_ms: int) -> int:
        """Return the throttle time of this request in ms."""
        return 0


class _Limited(ControllerMutationQuota):
    """Keep the throttle time of the last violation; it runs while the request waits."""

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
    """Refuse, without a charge, while the bucket is below zero.

    The mutation that takes the bucket below zero is not throttled; the next one is.
    """

    __slots__ = ()

    def charge(self, mutation_count: int, now_ms: int) -> bool:
        """False while the bucket is below zero."""
        throttle_ms = self._manager.try_charge(self._user, self._client_id, mutation_count, now_ms)
        if throttle_ms > 0:
            self._violated(throttle_ms, now_ms)
        return throttle_ms == 0


class PermissiveQuota(_Limited):
    """Refuse nothing, for versions without the error; throttle the client instead."""

    __slots__ = ()

    def charge(self, mutation_count: int, now_ms: int) -> bool:
        """Always True."""
        throttle_ms = self._manager.charge(self._user, self._client_id, mutation_count, now_ms)
        if throttle_ms > 0:
            self._violated(throttle_ms, now_ms)
        return True


_UNBOUNDED = ControllerMutationQuota()


class ControllerMutationQuotaManager(ThrottlingQuotaManager[_Counter]):
    """One bucket for each scope; its burst is the limit over all samples."""

    def __init__(self, limits: Limits, sample_count: int, window_seconds: int) -> None:
        self._limits = limits
        self._counters = ClientCounters(
            limits, lambda: _Counter(sample_count, window_seconds * 1000)
        )

    @property
    def is_enabled(self) -> bool:
        """Whether such a quota was ever set."""
        return self._limits.is_enabled

    def quota_for(
        self, user: str, client_id: str | None, *, is_strict: bool
    ) -> ControllerMutationQuota:
        """Return the quota for one request; strict for versions that have the error."""
        if not self._limits.is_enabled:
            return _UNBOUNDED
        kind = StrictQuota if is_strict else PermissiveQuota
        return kind(self, user, client_id)

    def try_charge(self, user: str, client_id: str | None, cost: int, now_ms: int) -> int:
        """Charge (return 0), or return how long the bucket is below zero, in ms."""
        counters = self._counters
        counter = counters.by_client.get(user if counters.is_by_user else (user, client_id))
        if (
            counter is None
            or counters.version != self._limits.version
            or now_ms - counter.last_used_ms >= IDLE_MS
        ):
            counter = counters.get(user, client_id, now_ms)
        counter.last_used_ms = now_ms
        return counter.try_charge(cost, now_ms)

    def charge(self, user: str, client_id: str | None, cost: int, now_ms: int) -> int:
        """Always charge; return how long the bucket is below zero after it, in ms."""
        return self._counters.get(user, client_id, now_ms).charge(cost, now_ms)

    @may_pause
    def measurements(self, now_ms: int) -> Iterator[Measurement]:
        """Return `rate`, `tokens` and `throttle-time` by scope, and `queue-size`.

        `rate` is KIP-599's name; Kafka's own, `mutation-rate`, is an alias of it.
        """
        yield Measurement(GROUP, "queue-size", {}, self.queue_size)
        for scope_tags, counter in self._counters.live(now_ms):
            tags = client_tags(scope_tags)
            rate = counter.rate(now_ms)
            yield Measurement(GROUP, "rate", tags, rate)
            yield Measurement(GROUP, "mutation-rate", tags, rate)
            if counter.has_bucket:
                tokens = float(counter.tokens(now_ms))
                yield Measurement(GROUP, "tokens", tags, tokens)
            if counter.throttle_time is not None:
                average = counter.throttle_time.average(now_ms)
                yield Measurement(GROUP, "throttle-time", tags, average)
