"""Decompress the records of a batch, up to a limit.

kafka-python's codecs decompress without a limit, so a batch of 48 KB could take gigabytes. The
formats are those of Kafka's `CompressionType`. A codec is imported when a batch first needs it.
"""

import struct
import zlib
from collections.abc import Callable
from typing import Any, Final

from protocol.codec import read_unsigned_varint

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4

_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_ZSTD_WINDOW_BYTES_MAX: Final = 1 << 25
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16
_BLOCK_SIZE: Final = struct.Struct(">i")


class TooLargeError(ValueError):
    """The decompressed bytes are more than the limit."""


def decompress(payload: bytes, codec: int, bytes_max: int) -> bytes:
    """Return the decompressed payload of a batch; `codec` is one of the constants above.

    Raises:
        TooLargeError: it has more than `bytes_max` bytes. No more than these were decompressed.
        Exception: the payload is not in this format; each codec has its own errors.
    """
    decompressed, is_all = decompress_beginning(payload, codec, bytes_max)
    if not is_all:
        raise too_large(bytes_max)
    return decompressed


def too_large(bytes_max: int) -> TooLargeError:
    """Return the error about a payload with more than `bytes_max` decompressed bytes."""
    return TooLargeError(f"more than {bytes_max} bytes after decompression")


def decompress_beginning(payload: bytes, codec: int, bytes_max: int) -> tuple[bytes, bool]:
    """Return the first decompressed bytes, at most `bytes_max`, and whether these are all.

    Of snappy they are whole blocks.

    Raises:
        Exception: the payload is not in this format; each codec has its own errors.
    """
    return _CODECS[codec](payload, bytes_max)


def _gzip(payload: bytes, bytes_max: int) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    left = bytes_max + 1
    while payload and left > 0:  # a file may have several members
        member = zlib.decompressobj(_GZIP_WINDOW)
        parts.append(member.decompress(payload, left))
        left -= len(parts[-1])
        if left > 0 and not member.eof:
            raise ValueError("gzip data ends within a member")
        payload = member.unused_data
    return _cut(b"".join(parts), bytes_max)


def _snappy(payload: bytes, bytes_max: int) -> tuple[bytes, bool]:
    """Add up the sizes that the blocks announce, then decompress; no block exceeds its size."""
    total, end, is_all = 0, len(payload), True
    for start in _snappy_blocks(payload):
        total += read_unsigned_varint(payload, start)[0]
        if total > bytes_max:
            end, is_all = start - _BLOCK_SIZE.size, False
            break
    if not is_all and end <= _XERIAL_HEADER_BYTES:
        return b"", False
    from kafka.codec import snappy_decode  # noqa: PLC0415 - see the module's docstring

    return bytes(snappy_decode(payload[:end])), is_all


def _snappy_blocks(payload: bytes) -> list[int]:
    if not payload.startswith(_XERIAL_MAGIC):
        return [0]
    starts: list[int] = []
    position = _XERIAL_HEADER_BYTES
    while position + 4 <= len(payload):
        (size,) = _BLOCK_SIZE.unpack_from(payload, position)
        if size <= 0:
            raise ValueError(f"snappy block of {size} bytes")
        starts.append(position + 4)
        position += 4 + size
    return starts


def _lz4(payload: bytes, bytes_max: int) -> tuple[bytes, bool]:
    import lz4.frame  # noqa: PLC0415

    decompressor: Any = lz4.frame.LZ4FrameDecompressor()
    return _cut(bytes(decompressor.decompress(payload, bytes_max + 1)), bytes_max)


def _zstd(payload: bytes, bytes_max: int) -> tuple[bytes, bool]:
    import zstandard  # noqa: PLC0415

    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES_MAX)
    with decompressor.stream_reader(payload, read_across_frames=True) as reader:
        return _cut(bytes(reader.read(bytes_max + 1)), bytes_max)


def _cut(decompressed: bytes, bytes_max: int) -> tuple[bytes, bool]:
    is_all = len(decompressed) <= bytes_max
    return decompressed if is_all else decompressed[:bytes_max], is_all


_CODECS: dict[int, Callable[[bytes, int], tuple[bytes, bool]]] = {
    GZIP: _gzip,
    SNAPPY: _snappy,
    LZ4: _lz4,
    ZSTD: _zstd,
}
