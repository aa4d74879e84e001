"""Read many records of equal lengths at once: what is at one place of each is a column of bytes.

A column is a slice with the size of a record as its step, so that a few calls look at all records.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, NamedTuple

_EQUAL_MIN: Final = 16
"""Fewer records are not worth the look at columns."""
_CONTINUED: Final = bytes(range(128, 256))
"""Bytes of a varint that are not its last one."""
_EVEN: Final = bytes(range(0, 256, 2))
_ONE_BYTE_OFFSETS, _TWO_BYTE_OFFSETS, _THREE_BYTE_OFFSETS = 64, 8192, 1 << 20
_OFFSETS = bytes(range(0, 128, 2))
# The bytes of two-byte offsets; those of three repeat them, and have another byte behind them.
_OFFSETS_LOW = bytes(offset << 1 & 0x7F | 0x80 for offset in range(_TWO_BYTE_OFFSETS))
_OFFSETS_HIGH = bytes(offset >> 6 for offset in range(_TWO_BYTE_OFFSETS))
_OFFSETS_MIDDLE = bytes(byte | 0x80 for byte in _OFFSETS_HIGH)
_INT_RANGE: Final = 1 << 32


class EqualRecords(NamedTuple):
    """Records of equal lengths that follow each other, up to `stop`."""

    record_count: int
    stop: int
    first_delta: int
    min_delta: int
    max_delta: int
    is_keyless: bool


def equal_records(data: bytes, begin: int, index: int, count_max: int) -> EqualRecords | None:
    """Return the next records that have the lengths of the one at `begin`; None if these are few.

    `index` is the offset that this one must have, and each other one the next. Records that are
    unusual, or have headers, are not looked at.
    """
    if index < _ONE_BYTE_OFFSETS:
        offset_bytes, count = 1, _ONE_BYTE_OFFSETS - index
    else:
        offset_bytes = 2 if index < _TWO_BYTE_OFFSETS else 3
        count = _TWO_BYTE_OFFSETS - index % _TWO_BYTE_OFFSETS
    count = min(count, count_max)
    if count < _EQUAL_MIN or index >= _THREE_BYTE_OFFSETS:
        return None
    try:
        lengths, delta_at, offset_at, stop, is_keyless = record_layout(data, begin, offset_bytes)
    except IndexError:
        return None
    size = stop - begin
    count = min(count, (len(data) - begin) // size)
    for at in lengths:
        column = data[at : begin + count * size : size]
        count -= len(column.lstrip(column[:1]))
        if count < _EQUAL_MIN:
            return None
    stop = begin + count * size
    columns = [data[at:stop:size] for at in range(delta_at, offset_at)]
    extremes = _extremes(columns)
    if extremes is None or not _are_consecutive(data, offset_at, stop, size, index, count):
        return None
    first_delta = _delta(tuple(column[0] for column in columns))
    return EqualRecords(count, stop, first_delta, *extremes, is_keyless)


def record_layout(
    data: bytes, begin: int, offset_bytes: int
) -> tuple[list[int], int, int, int, bool]:
    """Return where a record has its lengths, its timestamp, its offset, its end, and has it no key.

    Raises:
        IndexError: it is cut off, or unusual.
    """
    announced, position = plain_varint(data, begin)
    lengths = list(range(begin, position))
    stop = position + (announced >> 1)
    delta_at = position + 1
    _, offset_at = plain_varint(data, delta_at)
    position = offset_at + offset_bytes
    is_keyless = data[position] == 1
    for _field in ("key", "value"):
        at = position
        size, position = plain_varint(data, at)
        lengths += range(at, position)
        if not size & 1:
            position += size >> 1
        elif size != 1:
            raise IndexError
    lengths.append(position)
    if data[position] or position + 1 != stop or announced & 1:  # headers, or a negative size
        raise IndexError
    return lengths, delta_at, offset_at, stop, is_keyless


def _are_consecutive(
    data: bytes, offset_at: int, stop: int, size: int, index: int, count: int
) -> bool:
    """Return whether the offsets in a slice are those from `index` on."""
    offsets = data[offset_at:stop:size]
    if index < _ONE_BYTE_OFFSETS:
        return offsets == _OFFSETS[index : index + count]
    block, start = divmod(index, _TWO_BYTE_OFFSETS)
    second = data[offset_at + 1 : stop : size]
    if offsets != _OFFSETS_LOW[start : start + count]:
        return False
    if block == 0:
        return second == _OFFSETS_HIGH[start : start + count]
    third = data[offset_at + 2 : stop : size]
    return second == _OFFSETS_MIDDLE[start : start + count] and third == bytes((block,)) * count


def _extremes(columns: list[bytes]) -> tuple[int, int] | None:
    """Return the least and the largest of numbers whose varints are columns of bytes.

    Return None if they have another number of bytes than there are columns.
    """
    first, last = columns[0], columns[-1]
    if any(column.translate(None, _CONTINUED) for column in columns[:-1]) or not last.isascii():
        return None
    if len(columns) > 1 and 0 in last:
        return None
    if first.translate(None, _EVEN):  # some are negative
        deltas = {_delta(raw) for raw in set(zip(*columns, strict=True))}
        return min(deltas), max(deltas)
    return _delta(_extreme(columns, min)), _delta(_extreme(columns, max))


def _extreme(columns: list[bytes], find: Callable[[Iterable[int]], int]) -> tuple[int, ...]:
    """Return the varint of the least or the largest of numbers that are not negative.

    The last column decides, then the one before it for the numbers that are equal in it.
    """
    varint: list[int] = []
    count, others = len(columns[0]), 0
    """`others` has all bits of the places that are out of the question."""
    for column in reversed(columns):
        number = int.from_bytes(column)
        candidates = number | others if find is min else number & ~others
        found = find(set(candidates.to_bytes(count)))
        varint.insert(0, found)
        if len(varint) < len(columns):
            others |= int.from_bytes(column.translate(_other_than(found)))
    return tuple(varint)


@lru_cache(maxsize=256)
def _other_than(byte: int) -> bytes:
    """Return a table that makes 0 of a byte, and 255 of each other one."""
    return bytes(0 if other == byte else 255 for other in range(256))


def _delta(varint: tuple[int, ...]) -> int:
    raw = 0
    for number, byte in enumerate(varint):
        raw |= (byte & 0x7F) << 7 * number
    return (raw >> 1) ^ -(raw & 1)


def plain_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number with zigzag encoding, and where it ends.

    Raises:
        IndexError: it is cut off, or is for the slow path.
    """
    value = data[position]
    if value < 0x80:
        return value, position + 1
    value &= 0x7F
    for shift in (7, 14, 21, 28, 35):
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if not byte or value >= _INT_RANGE:
                break
            return value, position + 1
    raise IndexError
