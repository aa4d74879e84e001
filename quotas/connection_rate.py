"""KIP-612: the limits on new connections per IP address and broker, and per broker.

Source: Kafka's `ConnectionQuotas`.
"""

from collections import OrderedDict
from collections.abc import Iterator

from protocol.pacing import may_pause, paced
from quotas.counters import IDLE_MS, add_counter, is_idle
from quotas.limits import Limits
from quotas.metrics import Measurement
from quotas.sampled_rate import SampledRate


class _Counter:
    __slots__ = ("last_used_ms", "life_ms", "rate")

    def __init__(self, sample_count: int, window_ms: int) -> None:
        self.rate = SampledRate(sample_count, window_ms)
        self.life_ms = max(IDLE_MS, sample_count * window_ms)
        self.last_used_ms = 0


class AcceptRate:
    """The rate at which a broker accepts connections (`max.connection.creation.rate`).

    Record a connection when those before it are accepted: as for Kafka's acceptor, one waits at a
    time.
    """

    __slots__ = ("_rate", "_sample_count", "_window_ms")

    def __init__(self, sample_count: int, window_seconds: int) -> None:
        self._sample_count = sample_count
        self._window_ms = window_seconds * 1000
        self.clear()

    def record(self, limit: int, now_ms: int) -> int:
        """Record a connection; return after how many ms it is accepted, at most a window."""
        self._rate.record(1, now_ms)
        if limit <= 0:
            return self._window_ms
        return min(self._rate.throttle_time_ms(limit, 1, now_ms), self._window_ms)

    def undo(self, now_ms: int) -> None:
        """Forget a connection: the quota of its address refuses it, or its client is gone."""
        self._rate.record(-1, now_ms)

    def clear(self) -> None:
        """Forget all connections: the broker stops."""
        self._rate = SampledRate(self._sample_count, self._window_ms)


class ConnectionRateQuotaManager:
    """One rate for each address, over `sample_count` windows of `window_seconds`."""

    def __init__(self, limits: Limits, sample_count: int, window_seconds: int) -> None:
        self._limits = limits
        self._sample_count = sample_count
        self._window_ms = window_seconds * 1000
        self._counters: OrderedDict[str, _Counter] = OrderedDict()

    @property
    def is_enabled(self) -> bool:
        """Whether such a quota was ever set; no counters are kept before."""
        return self._limits.is_enabled

    def record(self, ip: str, now_ms: int) -> int:
        """Record a connection; return 0, or after how many ms to close it without a response.

        A refused connection doesn't count. The wait is at most one window.
        """
        if not self._limits.is_enabled:
            return 0
        counter = self._counters.get(ip)
        if counter is None or is_idle(counter, now_ms):
            counter = _Counter(self._sample_count, self._window_ms)
            add_counter(self._counters, ip, counter, now_ms)
        counter.last_used_ms = now_ms
        counter.rate.record(1, now_ms)
        limit = self._limits.ip_limit(ip)
        if limit is None:
            return 0
        throttle_ms = counter.rate.throttle_time_ms(limit.numerator, limit.denominator, now_ms)
        if throttle_ms > 0:
            counter.rate.record(-1, now_ms)
        return min(throttle_ms, self._window_ms)

    @may_pause
    def measurements(self, now_ms: int) -> Iterator[Measurement]:
        """Yield `connection-accept-rate` by address."""
        for ip, counter in paced(self._counters.items()):
            if not is_idle(counter, now_ms):
                rate = counter.rate.rate(now_ms)
                yield Measurement(
                    "socket-server-metrics", "connection-accept-rate", {"ip": ip}, rate
                )
