"""Counters of the requests that quotas in shadow mode would have throttled.

A quota in shadow mode is evaluated and not enforced; ADR 19 has the rules. Memory is bounded by the
number of entities, and the number of events and producer ids per entity.
"""

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import NamedTuple

from protocol.pacing import may_pause, paced
from quotas.counters import IDLE_MS, add_counter, is_idle
from quotas.limits import Tags
from quotas.metrics import Measurement, client_tags

GROUP = "ShadowQuota"

EVENTS_MAX = 20
"""Number of events that are kept per entity."""

ENTITIES_MAX = 1_000
"""Entities in a report; one more replaces the one that was throttled longest ago."""

IDS_MAX = 256
"""Below this number of distinct producer ids of an entity the count is exact."""

_HASH_BITS = 64
_HASH_MASK = (1 << _HASH_BITS) - 1


class ShadowKey(NamedTuple):
    """The quota key, the scope, and the broker (None for a quota of the whole cluster)."""

    quota: str
    tags: Tags
    broker_id: int | None


class ShadowEvent:
    """One request that would have been throttled."""

    __slots__ = ("client_id", "throttle_time_ms", "time_ms", "user")

    def __init__(
        self, time_ms: int, throttle_time_ms: int, user: str, client_id: str | None
    ) -> None:
        self.time_ms = time_ms
        self.throttle_time_ms = throttle_time_ms
        self.user = user
        self.client_id = client_id


class ShadowCounter:
    """Counts of requests of one scope that one quota would have throttled.

    `throttled`: requests whose response would have had a `throttle_time_ms` above 0, refused ones
    included; `throttle_time_total_ms` and `throttle_time_max_ms` are theirs.
    `held`: requests over the quota that arrived while their connection would have been muted.
    `events` are the newest throttled requests, oldest first.
    """

    __slots__ = (
        "_ids",
        "_over_quota",
        "events",
        "first_ms",
        "held",
        "last_used_ms",
        "throttle_time_max_ms",
        "throttle_time_total_ms",
        "throttled",
    )

    life_ms = IDLE_MS

    def __init__(self, now_ms: int) -> None:
        self.first_ms = now_ms
        self.last_used_ms = now_ms
        self.throttled = 0
        self.held = 0
        self.throttle_time_total_ms = 0
        self.throttle_time_max_ms = 0
        self.events: deque[ShadowEvent] = deque(maxlen=EVENTS_MAX)
        self._over_quota = 0
        self._ids: _DistinctIds | None = None

    @property
    def over_quota(self) -> int:
        """The amount that the quota would not have admitted, in its unit.

        Bytes, ms of handlers' time, partitions, or distinct producer ids (from `IDS_MAX` on an
        estimate with a standard error of 6 %).
        """
        return self._over_quota if self._ids is None else self._ids.count

    def throttle(self, event: ShadowEvent) -> None:
        """Count a request that would have been throttled."""
        self.throttled += 1
        self.throttle_time_total_ms += event.throttle_time_ms
        self.throttle_time_max_ms = max(self.throttle_time_max_ms, event.throttle_time_ms)
        self.events.append(event)

    def extend(self, throttle_time_ms: int) -> None:
        """Extend the throttle time of the newest event, if this one is longer."""
        event = self.events[-1]
        if throttle_time_ms > event.throttle_time_ms:
            self.throttle_time_total_ms += throttle_time_ms - event.throttle_time_ms
            self.throttle_time_max_ms = max(self.throttle_time_max_ms, throttle_time_ms)
            event.throttle_time_ms = throttle_time_ms

    def exceed(self, amount: int) -> None:
        """Add to `over_quota`, in the quota's unit."""
        self._over_quota += amount

    def exceed_with_id(self, producer_id: int) -> None:
        """Count a producer id that would have been refused; each id counts once."""
        if self._ids is None:
            self._ids = _DistinctIds()
        self._ids.add(producer_id)


class _DistinctIds:
    """Estimate the number of distinct ids in bounded memory, from the `IDS_MAX` smallest hashes.

    Bar-Yossef et al., "Counting distinct elements in a data stream" (2002).
    """

    __slots__ = ("_heap", "_kept")

    def __init__(self) -> None:
        self._kept: set[int] = set()
        # The kept hashes, negated: the largest is at the top.
        self._heap: list[int] = []

    @property
    def count(self) -> int:
        if len(self._heap) < IDS_MAX:
            return len(self._heap)
        return (IDS_MAX - 1 << _HASH_BITS) // (1 - self._heap[0])

    def add(self, producer_id: int) -> None:
        hashed = _mix(producer_id)
        if hashed in self._kept:
            return
        if len(self._heap) < IDS_MAX:
            heapq.heappush(self._heap, -hashed)
        elif hashed < -self._heap[0]:
            self._kept.discard(-heapq.heapreplace(self._heap, -hashed))
        else:
            return
        self._kept.add(hashed)


def _mix(number: int) -> int:
    """Return SplitMix64's finalizer of a number: neighbours get distant hashes."""
    mixed = (number + 0x9E3779B97F4A7C15) & _HASH_MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _HASH_MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _HASH_MASK
    return mixed ^ (mixed >> 31)


class ShadowReport:
    """The counters of all quotas in shadow mode; an entity is removed after an idle hour."""

    def __init__(self) -> None:
        self._counters: OrderedDict[ShadowKey, ShadowCounter] = OrderedDict()

    def counter(self, key: ShadowKey, now_ms: int) -> ShadowCounter:
        """Return the counter of an entity that exceeds its quota now."""
        counter = self._counters.get(key)
        if counter is None or is_idle(counter, now_ms):
            self._counters.pop(key, None)
            counter = ShadowCounter(now_ms)
            add_counter(self._counters, key, counter, now_ms)
            if len(self._counters) > ENTITIES_MAX:
                self._drop_oldest()
        counter.last_used_ms = now_ms
        return counter

    @may_pause
    def rows(self, now_ms: int) -> Iterator[tuple[ShadowKey, ShadowCounter]]:
        """Yield all entities that exceeded a quota within the last hour."""
        for key, counter in paced(self._counters.items()):
            if not is_idle(counter, now_ms):
                yield key, counter

    def clear(self) -> None:
        """Remove all counters."""
        self._counters.clear()

    @may_pause
    def measurements(self, now_ms: int) -> Iterator[Measurement]:
        """Yield the counts of each entity; `broker-id` is "" for a quota of the whole cluster."""
        for key, counter in self.rows(now_ms):
            broker_id = "" if key.broker_id is None else str(key.broker_id)
            tags = {"quota": key.quota, **client_tags(key.tags), "broker-id": broker_id}
            for name, value in (
                ("throttled", counter.throttled),
                ("held", counter.held),
                ("over-quota", counter.over_quota),
                ("throttle-time-total", counter.throttle_time_total_ms),
                ("throttle-time-max", counter.throttle_time_max_ms),
            ):
                yield Measurement(GROUP, name, tags, value)

    def _drop_oldest(self) -> None:
        """Search all entities, since they are not ordered by use."""
        oldest = min(self._counters, key=lambda key: self._counters[key].last_used_ms)
        del self._counters[oldest]
