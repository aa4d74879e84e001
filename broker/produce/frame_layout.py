"""Where the parts of Produce frames with one batch are, if they have one shape and one size."""

from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from typing import Any, TypeAlias

from broker.produce.request_shape import RequestShape
from protocol import records
from protocol.codec import encode_unsigned_varint
from protocol.framing import SIZE_BYTES
from protocol.produce_template import API_BYTES, CONSTANT_AT

_SIZE = Struct(">i")
_BATCH_START = Struct(">qi")
"""Base offset and length."""
_VARINT_BYTES_MAX = 5
# Without a sign, more attributes than the known ones and a negative delta fit nothing.
_BATCH_FIELDS = "4xbIHI8xqqhii"

FrameLayout: TypeAlias = tuple[
    Callable[[bytes, int], tuple[Any, ...]],
    bytes,
    bytes,
    int,
    int,
    int,
]
"""Where the parts of all frames of one size are, counted from the size field.

- A function that returns size and API, correlation id, constant piece, and what a batch has after
  its leader epoch.
- The expected bytes of size and API.
- Those from the client id to the length of the batch.
- The length of the batch.
- Where the bytes begin that the CRC covers, and where the batch ends.

A plain tuple, for the hot path.
"""
ReadLayout: TypeAlias = tuple[
    Callable[[bytes, int], tuple[Any, ...]],
    bytes,
    bytes,
    bytes,
    int,
    slice,
]
"""Where the parts of a read are that is one frame, for any partition.

- A function that returns size and API, correlation id, what is before the index of the partition,
  the index, what is behind it, and what a batch has after its leader epoch.
- The expected bytes of size and API, before the index, and behind it up to the length of the batch.
- The length of the batch.
- The bytes that the CRC covers.
"""


def frame_layout(shape: RequestShape, size: int) -> FrameLayout | None:
    """Return the layout of frames of a size; None if they cannot have a batch that fits."""
    if not 0 < size <= shape.frame_bytes_max:
        return None
    (target,) = shape.targets
    rest_bytes = size - CONSTANT_AT - len(target.piece) - len(shape.suffix)
    batch_size = _batch_size(rest_bytes, is_flexible=shape.is_flexible)
    if batch_size is None or not records.HEADER_BYTES <= batch_size <= target.batch_bytes_max:
        return None
    size_field = _SIZE.pack(batch_size)
    if shape.is_flexible:
        size_field = encode_unsigned_varint(batch_size + 1)
    batch_length = batch_size - records.LOG_OVERHEAD_BYTES
    piece = target.piece + size_field + _BATCH_START.pack(0, batch_length)
    batch_start = SIZE_BYTES + size - len(shape.suffix) - batch_size
    return (
        _frame_struct(len(piece)).unpack_from,
        _SIZE.pack(size) + shape.api,
        piece,
        batch_length,
        batch_start + records.CRC_START,
        batch_start + batch_size,
    )


@lru_cache(maxsize=256)
def _frame_struct(piece_bytes: int) -> Struct:
    """Return the layout of frames up to the number of records."""
    return Struct(f">{SIZE_BYTES + API_BYTES}s4s{piece_bytes}s{_BATCH_FIELDS}")


@lru_cache(maxsize=256)
def read_struct(before_bytes: int, behind_bytes: int) -> Struct:
    """Return the same with the index of the partition between two parts of the piece."""
    return Struct(f">{SIZE_BYTES + API_BYTES}s4s{before_bytes}si{behind_bytes}s{_BATCH_FIELDS}")


def _batch_size(rest_bytes: int, *, is_flexible: bool) -> int | None:
    """Return the size of a batch that takes `rest_bytes` together with its size field."""
    if not is_flexible:
        return rest_bytes - _SIZE.size
    for varint_bytes in range(1, _VARINT_BYTES_MAX + 1):
        size = rest_bytes - varint_bytes
        if size >= 0 and len(encode_unsigned_varint(size + 1)) == varint_bytes:
            return size
    return None
