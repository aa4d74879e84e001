"""Batches with one record and no compression, the most frequent ones: is their record sound?

Most of them look like one before: of the same size, with a key of the same size. Then the bytes at
the places of the lengths are the same, too, and to compare these is enough.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final

from protocol.record_columns import record_layout
from protocol.records import (
    COMPRESSION_MASK,
    CONTROL_FLAG,
    COPIED_BYTES_MAX,
    CRC_START,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
)

INSIDE_FLAGS = COMPRESSION_MASK | LOG_APPEND_TIME_FLAG | CONTROL_FLAG
"""Flags of batches that are not plain."""

_RECORD_AT: Final = HEADER_BYTES - CRC_START
_COUNT_AT: Final = _RECORD_AT - 4
_ONE: Final = b"\0\0\0\1"
_NO_DELTA: Final = bytes(4)
_KNOWN_MAX = 4
"""Forms of one size that are remembered."""

Shape = tuple[Callable[[Any], tuple[Any, ...]], tuple[tuple[Any, ...], ...]]
"""What returns the bytes at some places of a batch, and these bytes of batches that were sound."""
_UNKNOWN: Final[Shape] = (itemgetter(0), ())


class _Shapes(dict[int, Shape]):
    """By the length of a batch, as in its header; `_UNKNOWN` for others."""

    def __missing__(self, length: int) -> Shape:
        return _UNKNOWN


SHAPES: Final = _Shapes()
_PLACES: Final[dict[int, tuple[Any, ...]]] = {}
"""What the getter of a shape returns."""


def learn_single(length: int, covered: bytes | bytearray | memoryview) -> bool:
    """Return whether a batch has one sound record, and no flag that needs a look; remember it so.

    `covered` are the bytes behind its CRC. The record has the base timestamp of the batch and no
    headers; others are left to the full check.
    """
    if (
        covered[1] & INSIDE_FLAGS
        or covered[2:6] != _NO_DELTA
        or covered[_COUNT_AT:_RECORD_AT] != _ONE
    ):
        return False
    data = bytes(covered)
    try:
        lengths, delta_at, offset_at, stop, _is_keyless = record_layout(data, _RECORD_AT, 1)
    except IndexError:
        return False
    if stop != len(data) or data[delta_at] or offset_at != delta_at + 1 or data[offset_at]:
        return False
    if length < COPIED_BYTES_MAX:
        value_at = [at for at in lengths[:-1] if at > offset_at]
        places = (slice(0, 6), slice(_COUNT_AT, offset_at + 1), *value_at, -1)
        _remember(length, places, data)
    return True


def _remember(length: int, places: tuple[Any, ...], data: bytes) -> None:
    getter = itemgetter(*places)
    _before, known = SHAPES[length]
    kept = known[1 - _KNOWN_MAX :] if _PLACES.get(length) == places else ()
    _PLACES[length] = places
    SHAPES[length] = (getter, (*kept, getter(data)))
