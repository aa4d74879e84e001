"""The order in which Java's `HashMap` returns strings.

Brokers list features in this order and check a request's features in it, so clients see it.
"""

from collections.abc import Iterable

DEFAULT_CAPACITY = 16
_LOAD_FACTOR = 0.75


def string_hash(text: str) -> int:
    """Return Java's `String.hashCode`, as an unsigned number of 32 bits."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value


def hash_map_order(names: Iterable[str], capacity: int = DEFAULT_CAPACITY) -> list[str]:
    """Return different names in the order of a `HashMap` into which they were put one by one.

    `capacity` is that of the map when it was created, a power of two. Names of one bucket keep the
    order in which they were put; maps with eight or more in one bucket are not modelled.
    """
    ordered = list(dict.fromkeys(names))
    while len(ordered) > capacity * _LOAD_FACTOR:
        capacity *= 2
    return sorted(ordered, key=lambda name: _bucket(name, capacity))


def copy_capacity(count: int) -> int:
    """Return the capacity of a `HashMap` that was created as a copy of a map with `count` keys."""
    capacity = 1
    while capacity < int(count / _LOAD_FACTOR + 1):
        capacity *= 2
    return capacity


def _bucket(name: str, capacity: int) -> int:
    value = string_hash(name)
    return (value ^ value >> 16) & (capacity - 1)
