"""The order in which the JVM's hash tables return names.

DescribeConfigs returns keys, and some error messages name keys, in the order of a Scala `HashMap`
or a Java `Properties`. It depends on the names and on the size of the table only.
"""

from collections.abc import Iterable

_TABLE_LENGTH_MIN = 16


def in_hash_order(names: Iterable[str]) -> list[str]:
    """Return different names in the order of a Scala `HashMap` with these keys."""
    listed = list(names)
    length = _TABLE_LENGTH_MIN
    while len(listed) * 4 >= length * 3:
        length *= 2
    return sorted(listed, key=lambda name: _position(name, length))


def _position(name: str, length: int) -> tuple[int, int]:
    """Return the bucket of a name, and its rank within the bucket."""
    text_hash = _string_hash(name)
    text_hash ^= text_hash >> 16
    signed = text_hash - (1 << 32) if text_hash >> 31 else text_hash
    return text_hash & (length - 1), signed


def _string_hash(text: str) -> int:
    """Return Java's `String.hashCode` as 32 unsigned bits."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    text_hash = 0
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        text_hash = (text_hash * 31 + (high << 8 | low)) & 0xFFFF_FFFF
    return text_hash
