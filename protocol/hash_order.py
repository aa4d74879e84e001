"""The order of the entries of Kafka's hash maps, for responses that Kafka builds from one.

Clients see this order, so responses here have the same.

Sources: `String.hashCode`, `Map.hashCode`, `Objects.hash` and `HashMap` of Java, and
`hashCode` of Kafka's `TopicPartition` and `Uuid`.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

from protocol.pacing import may_pause, paced, paced_elements, paced_range

T = TypeVar("T")

CAPACITY_DEFAULT = 16
"""Number of buckets of a map that was created without an expected size."""


def string_hash(text: str) -> int:
    """Return the hash of a string, 0 to 2**32 - 1."""
    code_units = text.encode("utf-16-be", "surrogatepass")
    result = 0
    for high, low in zip(code_units[::2], code_units[1::2], strict=True):
        result = (31 * result + (high << 8 | low)) & 0xFFFFFFFF
    return result


def joined_hash(first_hash: int, rest: str) -> int:
    """Return the hash of a string from the hash of its first part and the rest."""
    length = len(rest.encode("utf-16-be", "surrogatepass")) // 2
    return (first_hash * pow(31, length, 1 << 32) + string_hash(rest)) & 0xFFFFFFFF


def as_java_int(value: int) -> int:
    """Return 32 bits, given as 0 to 2**32 - 1, as Java's int."""
    return value - (1 << 32) if value >> 31 else value


@may_pause
def map_hash(entries: Iterable[tuple[str, str | None]]) -> int:
    """Return the hash of a map of strings, 0 to 2**32 - 1; None counts 0."""
    return (
        sum(
            string_hash(key) ^ (0 if value is None else string_hash(value))
            for key, value in paced(entries)
        )
        & 0xFFFFFFFF
    )


def int_hash(value: int) -> int:
    """Return the hash of Java's `Integer`, 0 to 2**32 - 1."""
    return value & 0xFFFFFFFF


def uuid_hash(value: UUID) -> int:
    """Return the hash of Kafka's `Uuid`, 0 to 2**32 - 1."""
    folded = value.int >> 64 ^ value.int
    return (folded >> 32 ^ folded) & 0xFFFFFFFF


def topic_partition_hash(topic: str, partition_index: int) -> int:
    """Return the hash of Kafka's `TopicPartition`, 0 to 2**32 - 1."""
    return (31 * (31 + partition_index) + string_hash(topic)) & 0xFFFFFFFF


def grown_capacity(count: int, capacity_min: int = CAPACITY_DEFAULT) -> int:
    """Return the buckets of a map after `count` keys were put into it.

    It is created for `capacity_min` buckets, which become a power of two (`tableSizeFor`), and
    twice as many whenever there are more keys than three quarters of them.
    """
    capacity = 1 << (capacity_min - 1).bit_length()
    while count > capacity * 3 // 4:
        capacity *= 2
    return capacity


@may_pause
def in_hash_order(
    keys: Iterable[T], hash_of: Callable[[T], int], *, capacity_min: int = CAPACITY_DEFAULT
) -> list[T]:
    """Return distinct keys, given in the order of their insertion, in the order of a `HashMap`.

    `hash_of` returns a key's hash, 0 to 2**32 - 1. `capacity_min` is as in `grown_capacity`. A
    bucket with so many keys that Java makes a tree of them may have another order.
    """
    inserted = list(keys)
    capacity = grown_capacity(len(inserted), capacity_min)

    # No sort: it takes as long as all keys together, and cannot pause.
    chains: dict[int, list[T]] = {}
    for key in paced_elements(inserted):
        key_hash = hash_of(key)
        chains.setdefault((key_hash ^ key_hash >> 16) & capacity - 1, []).append(key)
    return [key for bucket in paced_range(capacity) if bucket in chains for key in chains[bucket]]


def ids_in_hash_order(ids: Iterable[int]) -> list[int]:
    """Return a few distinct ids in the order of a `HashSet`, if they were added in their own order.

    It does not pause, unlike `in_hash_order`.
    """
    found = list(ids)
    mask = grown_capacity(len(found)) - 1
    return sorted(found, key=lambda node_id: ((node_id ^ node_id >> 16) & mask, node_id))


@may_pause
def in_set_order(texts: Iterable[str]) -> list[str]:
    """Return strings in the order of a `HashSet` that was made from their sorted list."""
    # Java chooses the buckets by the size of the list, at least 16.
    keys = sorted(set(texts))
    capacity_min = max(CAPACITY_DEFAULT, int(len(keys) / 0.75) + 1)
    return in_hash_order(keys, string_hash, capacity_min=capacity_min)
