"""Counters per client: looked up quickly, and removed when they are idle."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from protocol.pacing import may_pause, paced
from quotas.limits import NAME_CHARACTERS_MAX, Limits, Tags, shortened
from quotas.sampled_rate import SampledAverage

if TYPE_CHECKING:
    from fractions import Fraction

IDLE_MS = 3_600_000
"""After an hour without use a counter is removed, as in Kafka: a new bucket is full.

A counter whose bucket takes longer to fill has a larger `life_ms`.
"""

CLIENTS_MAX = 100_000
"""Size of the cache of counters by client; it is cleared when full."""

_LOOKS = 2
"""Counters checked for idleness per new one: more than one, so that their number can fall."""


class Counter(Protocol):
    """A counter that is removed when idle."""

    last_used_ms: int

    @property
    def life_ms(self) -> int:
        """How long it is kept without use: `IDLE_MS` or more."""
        ...


class LimitedCounter(Counter, Protocol):
    """The counter of a scope."""

    limit: "Fraction | None"

    def set_limit(self, limit: "Fraction | None", now_ms: int) -> None:
        """Use this limit from now on."""
        ...


class ThrottlingCounter(LimitedCounter, Protocol):
    """The counter of a scope whose clients are throttled."""

    throttle_time: SampledAverage | None


_K = TypeVar("_K")
_C = TypeVar("_C", bound=Counter)
_L = TypeVar("_L", bound=LimitedCounter)
_T = TypeVar("_T", bound=ThrottlingCounter)


class ClientCounters(Generic[_L]):
    """The counter of each client under one quota key; clients of one scope share theirs."""

    __slots__ = ("_by_tags", "_limits", "_make", "by_client", "is_by_user", "version")

    def __init__(self, limits: Limits, make: Callable[[], _L]) -> None:
        """`make` returns a new counter without a limit."""
        self._limits = limits
        self._make = make
        self.version = limits.version
        self.is_by_user = limits.is_by_user
        self._by_tags: OrderedDict[Tags, _L] = OrderedDict()
        # By the user alone if the client id makes no difference.
        self.by_client: dict[str | tuple[str, str | None], _L] = {}

    def __len__(self) -> int:
        """Number of counters."""
        return len(self._by_tags)

    def get(self, user: str, client_id: str | None, now_ms: int) -> _L:
        """Return the counter of a client, with its current limit."""
        if self.version != self._limits.version:
            self._note_new_limits()
        client = user if self.is_by_user else (user, client_id)
        counter = self.by_client.get(client)
        if counter is None or now_ms - counter.last_used_ms >= IDLE_MS:
            counter = self._find(user, client_id, now_ms)
        counter.last_used_ms = now_ms
        return counter

    @may_pause
    def live(self, now_ms: int) -> Iterator[tuple[Tags, _L]]:
        """Yield all counters that are not idle, with their tags."""
        for tags, counter in paced(self._by_tags.items()):
            if not is_idle(counter, now_ms):
                yield tags, counter

    def _note_new_limits(self) -> None:
        self.version = self._limits.version
        self.is_by_user = self._limits.is_by_user
        self.by_client.clear()

    def _counter_of(self, user: str, client_id: str | None, now_ms: int) -> _L:
        (scope_user, scope_client_id), limit = self._limits.scope(user, client_id)
        tags = scope_user, shortened(scope_client_id)
        counter = self._by_tags.get(tags)
        if counter is None or is_idle(counter, now_ms):
            counter = self._make()
            add_counter(self._by_tags, tags, counter, now_ms)
        if counter.limit is not limit:
            counter.set_limit(limit, now_ms)
        return counter

    def _find(self, user: str, client_id: str | None, now_ms: int) -> _L:
        counter = self._counter_of(user, client_id, now_ms)
        if len(self.by_client) >= CLIENTS_MAX:
            self.by_client.clear()
        if self.is_by_user:
            self.by_client[user] = counter
        elif client_id is None or len(client_id) <= NAME_CHARACTERS_MAX:
            self.by_client[user, client_id] = counter
        return counter


class ThrottlingQuotaManager(Generic[_T]):
    """Base class of quotas that mute a client's connection, with the metrics of throttling."""

    _counters: ClientCounters[_T]

    queue_size = 0
    """Connections that are muted now because of this quota."""

    def note_throttle(
        self, user: str, client_id: str | None, throttle_time_ms: int, now_ms: int
    ) -> None:
        """Record the throttle time of a response for the metric `throttle-time`."""
        counter = self._counters.get(user, client_id, now_ms)
        if counter.throttle_time is None:
            counter.throttle_time = SampledAverage()
        counter.throttle_time.record(throttle_time_ms, now_ms)


def add_counter(counters: "OrderedDict[_K, _C]", key: _K, counter: _C, now_ms: int) -> None:
    """Add or replace a counter, and remove idle ones among the least recently checked.

    So memory is bounded by the clients of an hour, without scanning all counters. Readers must
    check `is_idle`.
    """
    for _ in range(min(_LOOKS, len(counters))):
        oldest_key, oldest = counters.popitem(last=False)
        if not is_idle(oldest, now_ms):
            counters[oldest_key] = oldest
    counters[key] = counter


def is_idle(counter: Counter, now_ms: int) -> bool:
    """Return whether a counter was not used for its `life_ms`."""
    return now_ms - counter.last_used_ms >= counter.life_ms
