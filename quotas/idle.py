"""Forgetting the counters of clients that went away, a little at every new one."""

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections import OrderedDict

IDLE_MS = 3_600_000
"""After an hour without use a counter starts anew, as in Kafka: a bucket is full again."""

_LOOKS = 2
"""More than the one that comes in, so that the idle ones go even while new ones come."""


class Counter(Protocol):
    """What is forgotten when it lies idle."""

    last_used_ms: int


_K = TypeVar("_K")
_C = TypeVar("_C", bound=Counter)


def add_counter(counters: "OrderedDict[_K, _C]", key: _K, counter: _C, now_ms: int) -> None:
    """Add or replace a counter, and drop idle ones among those not looked at for longest.

    So memory is bounded by the clients of an hour and never swept in one go. Whoever reads a
    counter looks at `is_idle` himself.
    """
    for _ in range(min(_LOOKS, len(counters))):
        oldest_key, oldest = counters.popitem(last=False)
        if not is_idle(oldest, now_ms):
            counters[oldest_key] = oldest
    counters[key] = counter


def is_idle(counter: Counter, now_ms: int) -> bool:
    """Whether it was last used so long ago that it no longer counts."""
    return now_ms - counter.last_used_ms >= IDLE_MS
