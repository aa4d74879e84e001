"""Batches with one record and no compression, the most frequent ones: is their record sound?

Most of them look like one before: of the same size, with a key of the same size. Then the bytes at
the places of the lengths are the same, too, and to compare these is enough.
"""

from collections.abc import Callable, Iterable
from struct import Struct
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
_UNKNOWN: Final[Shape] = (lambda _covered: (), ())


class _Shapes(dict[int, Shape]):
    """By the length of a batch, as in its header; `_UNKNOWN` for others."""

    def __missing__(self, length: int) -> Shape:
        return _UNKNOWN


SHAPES: Final = _Shapes()
_FORMATS: Final[dict[int, str]] = {}
"""Which bytes the first part of a shape returns, for `struct`."""


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
        _remember(length, (*range(6), *range(_COUNT_AT, offset_at + 1), *lengths), data)
    return True


def _remember(length: int, places: Iterable[int], data: bytes) -> None:
    layout = _format(places, len(data))
    unpack = Struct(layout).unpack
    _before, known = SHAPES[length]
    kept = known[1 - _KNOWN_MAX :] if _FORMATS.get(length) == layout else ()
    _FORMATS[length] = layout
    SHAPES[length] = (unpack, (*kept, unpack(data)))


def _format(places: Iterable[int], size: int) -> str:
    """Return the format of the bytes at some places of so many bytes, in runs."""
    layout, begin, stop = "", 0, 0
    for place in (*sorted(places), size):
        if place > stop or place == size:
            layout += f"{stop - begin}s{place - stop}x"
            begin = place
        stop = place + 1
    return layout
