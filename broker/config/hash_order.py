"""The order in which the JVM's hash tables return names.

DescribeConfigs returns keys, and some error messages name keys, in the order of a Scala `HashMap`
or a Java `Properties`. It depends on the names and on the size of the table only.
"""

from collections.abc import Iterable

from protocol.hash_order import as_java_int, string_hash
from protocol.pacing import may_pause, paced

_TABLE_LENGTH_MIN = 16


@may_pause
def in_hash_order(names: Iterable[str]) -> list[str]:
    """Return different names in the order of a Scala `HashMap` with these keys."""
    listed = list(names)
    length = _TABLE_LENGTH_MIN
    while len(listed) * 4 >= length * 3:
        length *= 2
    positions = sorted(
        ((_position(name, length), number) for number, name in enumerate(paced(listed)))
    )
    return [listed[number] for _, number in positions]


def _position(name: str, length: int) -> tuple[int, int]:
    """Return the bucket of a name, and its rank within the bucket."""
    text_hash = string_hash(name)
    text_hash ^= text_hash >> 16
    return text_hash & (length - 1), as_java_int(text_hash)
