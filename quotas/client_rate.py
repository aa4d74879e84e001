"""Quotas on bytes produced and fetched, and on request time, of one broker.

Sources: Kafka's `ClientQuotaManager`, `ClientRequestQuotaManager`. A value is recorded before the
rate is compared with the limit, so a burst counts until its sample expires.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from protocol.pacing import may_pause
from quotas.counters import IDLE_MS, ClientCounters, ThrottlingQuotaManager
from quotas.limits import Limits
from quotas.metrics import Measurement, client_tags
from quotas.sampled_rate import SampledAverage, SampledRate

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(frozen=True, slots=True)
class RateKind:
    """What a quota measures. A limit of 1 allows a sum of `unit` per second."""

    group: str
    rate_name: str
    unit: int = 1
    is_capped: bool = False
    """Whether a throttle time is at most one window."""


PRODUCE = RateKind("Produce", "byte-rate")
FETCH = RateKind("Fetch", "byte-rate")
REQUEST = RateKind("Request", "request-time", unit=10_000_000, is_capped=True)
"""Values are handler times in ns; the limit is in percent of one thread."""


_UNLIMITED = 1 << 62
"""More than the sum of all values of a rate."""


class ClientRate(SampledRate):
    """The rate of one scope and its limit, also as a fraction of values per second."""

    __slots__ = (
        "_safe_total",
        "_unit",
        "denominator",
        "last_used_ms",
        "left",
        "life_ms",
        "limit",
        "numerator",
        "throttle_time",
    )

    def __init__(self, unit: int, sample_count: int, window_ms: int) -> None:
        super().__init__(sample_count, window_ms)
        self._unit = unit
        self.life_ms = max(IDLE_MS, sample_count * window_ms)
        self.limit: Fraction | None = None
        self.numerator = 0
        self.denominator = 1
        self._safe_total = _UNLIMITED
        """A total that is not above the limit, whatever the time."""
        self.left = _UNLIMITED
        """What may be recorded before `ends_ms`, and is not above the limit for sure."""
        self.last_used_ms = 0
        self.throttle_time: SampledAverage | None = None

    def set_limit(self, limit: "Fraction | None", now_ms: int) -> None:
        """Use this limit from now on."""
        self.limit = limit
        self._safe_total = _UNLIMITED
        if limit is not None:
            self.numerator = limit.numerator * self._unit
            self.denominator = limit.denominator
            # The time span of a total is never shorter than `_bearing_ms`.
            self._safe_total = self.numerator * self._bearing_ms // (1000 * self.denominator)
        self.left = self._safe_total - self._older_total - self._sum

    def record(self, value: int, now_ms: int) -> None:
        """Add a value; a negative one undoes an earlier one."""
        if now_ms < self.ends_ms:
            self._last_ms = now_ms
            self._sum += value
            self.left -= value
        else:
            self._begin_sample(value, now_ms)
            self.left = self._safe_total - self._older_total - value


class ClientRateQuotaManager(ThrottlingQuotaManager[ClientRate]):
    """One rate for each scope, over `sample_count` windows of `window_seconds`."""

    def __init__(
        self, limits: Limits, kind: RateKind, sample_count: int, window_seconds: int
    ) -> None:
        self._limits = limits
        self._kind = kind
        self._sample_count = sample_count
        self._window_ms = window_seconds * 1000
        self._counters = ClientCounters(
            limits, lambda: ClientRate(kind.unit, sample_count, self._window_ms)
        )
        self._exempt: SampledRate | None = None
        # The last client and its counter: mostly the next request is of the same one.
        self._latest_client: tuple[str, str | None, int] | None = None
        self._latest = ClientRate(kind.unit, sample_count, self._window_ms)

    def record(self, user: str, client_id: str | None, value: int, now_ms: int) -> int:
        """Record a value; return the throttle time in ms."""
        limits, counter = self._limits, self._latest
        client = user, client_id, limits.version
        # Within a sample it is not idle.
        if client == self._latest_client and now_ms < counter.ends_ms:
            counter.last_used_ms = now_ms
        elif limits.is_enabled:
            self._latest = counter = self._counters.get(user, client_id, now_ms)
            self._latest_client = client
        else:
            return 0
        counter.record(value, now_ms)
        if counter.left >= 0:
            return 0  # as without a limit, or whatever the time of the samples
        throttle_ms = counter.throttle_time_ms(counter.numerator, counter.denominator, now_ms)
        if throttle_ms > self._window_ms and self._kind.is_capped:
            return self._window_ms
        return throttle_ms

    def credit(self, user: str, client_id: str | None, now_ms: int) -> int:
        """Return how much a client may record now and is not throttled for sure; below 0 nothing.

        As long as the time is the same, `record` of a sum then does what it does for single values.
        """
        if not self._limits.is_enabled:
            return _UNLIMITED
        counter = self._counters.get(user, client_id, now_ms)
        return counter.left if now_ms < counter.ends_ms else -1

    def unrecord(self, user: str, client_id: str | None, value: int, now_ms: int) -> None:
        """Undo a `record`: the client does not get the response."""
        if self._limits.is_enabled:
            self._counters.get(user, client_id, now_ms).record(-value, now_ms)

    def record_exempt(self, value: int, now_ms: int) -> None:
        """Record a value that throttles no client, such as a Produce with acks=0."""
        if self._limits.is_enabled:
            if self._exempt is None:
                self._exempt = SampledRate(self._sample_count, self._window_ms)
            self._exempt.record(value, now_ms)

    def bytes_max(self, user: str, client_id: str | None) -> int | None:
        """Return the maximum size of one Fetch that is not always throttled; None is unlimited."""
        if not self._limits.is_enabled:
            return None
        limit = self._limits.scope(user, client_id).limit
        if limit is None:
            return None
        return int(limit * (self._sample_count - 1) * self._window_ms / 1000)

    @may_pause
    def measurements(self, now_ms: int) -> Iterator[Measurement]:
        """Yield the rate and `throttle-time` by scope, and `queue-size`."""
        group, unit = self._kind.group, self._kind.unit
        yield Measurement(group, "queue-size", {}, self.queue_size)
        if self._exempt is not None:
            rate = self._exempt.rate(now_ms) / unit
            yield Measurement(group, f"exempt-{self._kind.rate_name}", {}, rate)
        for scope_tags, counter in self._counters.live(now_ms):
            tags = client_tags(scope_tags)
            yield Measurement(group, self._kind.rate_name, tags, counter.rate(now_ms) / unit)
            if counter.throttle_time is not None:
                average = counter.throttle_time.average(now_ms)
                yield Measurement(group, "throttle-time", tags, average)
