"""Decompress the records of a batch up to a limit, or piece by piece; compress them.

kafka-python's codecs decompress without a limit, so a batch of 48 KB could take gigabytes. The
formats are those of Kafka's `CompressionType`, and a payload is damaged where Kafka's streams say
so. A codec is imported when a batch first needs it.

Sources: Kafka's `GzipCompression`, `SnappyCompression`, `Lz4Compression` and `ZstdCompression`, and
the streams that they open.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from protocol.codec import read_unsigned_varint

NO_COMPRESSION, GZIP, SNAPPY, LZ4, ZSTD = 0, 1, 2, 3, 4

_PIECE_BYTES: Final = 64 * 1024
"""Decompressed bytes of a piece, and about what is decompressed at once."""
_INPUT_BYTES: Final = 16 * 1024
"""Compressed bytes that a codec gets at once: what it leaves is copied."""
_GZIP_HEADER_BYTES: Final = 10
_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
_GZIP_TRAILER: Final = struct.Struct("<II")
_FHCRC, _FEXTRA, _FNAME, _FCOMMENT = 2, 4, 8, 16
_ZSTD_WINDOW_BYTES_MAX: Final = 1 << 27
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16
_SNAPPY_RATIO_MAX: Final = 64
"""Above what snappy can reach: a block that announces more is damaged."""
_LZ4_FLAGS_AT: Final = 4
_BLOCK_SIZE: Final = struct.Struct(">i")


class TooLargeError(ValueError):
    """The decompressed bytes are more than the limit."""


def decompress(payload: bytes, codec: int, bytes_max: int) -> bytes:
    """Return the decompressed payload of a batch; `codec` is one of the constants above.

    Raises:
        TooLargeError: it has more than `bytes_max` bytes. No more pieces were decompressed.
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

    No more pieces are decompressed than these are of.

    Raises:
        Exception: the payload is not in this format; each codec has its own errors.
    """
    pieces: list[bytes] = []
    left = bytes_max
    for piece in decompressed_pieces(payload, codec):
        if len(piece) > left:
            pieces.append(piece[:left])
            return b"".join(pieces), False
        pieces.append(piece)
        left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces), True


def decompressed_pieces(payload: bytes, codec: int) -> Iterator[bytes]:
    """Yield the decompressed payload in pieces of about 64 KiB, or of a block if that is larger.

    Raises:
        Exception: the payload is damaged behind the last piece; each codec has its own errors.
    """
    return _PIECES[codec](payload)


def compress(payload: bytes, codec: int, level: int | None = None) -> bytes:
    """Return a payload in the format in which Kafka's broker writes it.

    `level` is in the range of the codec; None is Kafka's default for it.
    """
    return _COMPRESS[codec](payload, level)


def _gzip_pieces(payload: bytes) -> Iterator[bytes]:
    """As Java's `GZIPInputStream`: the checksum comes behind the data, other bytes are ignored."""
    position = _gzip_header_end(payload, 0)
    while True:
        member = zlib.decompressobj(-zlib.MAX_WBITS)
        checksum, size_bytes, left = 0, 0, b""
        while not member.eof:
            if not left:
                left = payload[position : position + _INPUT_BYTES]
                position += len(left)
                if not left:
                    raise ValueError("gzip data ends within a member")
            piece = member.decompress(left, _PIECE_BYTES)
            left = member.unconsumed_tail
            if piece:
                checksum = zlib.crc32(piece, checksum)
                size_bytes += len(piece)
                yield piece
        position -= len(member.unused_data)
        trailer = payload[position : position + _GZIP_TRAILER.size]
        if trailer != _GZIP_TRAILER.pack(checksum, size_bytes & 0xFFFFFFFF):
            raise ValueError("gzip data has another checksum or size")
        position += _GZIP_TRAILER.size
        try:
            position = _gzip_header_end(payload, position)
        except (ValueError, IndexError):
            return


def _gzip_header_end(payload: bytes, start: int) -> int:
    if not payload.startswith(_GZIP_MAGIC, start) or len(payload) < start + _GZIP_HEADER_BYTES:
        raise ValueError("not gzip data")
    flags, position = payload[start + 3], start + _GZIP_HEADER_BYTES
    if flags & _FEXTRA:
        position += 2 + payload[position] + (payload[position + 1] << 8)
    for flag in (_FNAME, _FCOMMENT):
        if flags & flag:
            position = payload.index(b"\0", position) + 1
    if flags & _FHCRC:
        checksum = zlib.crc32(payload[start:position]) & 0xFFFF
        if payload[position] + (payload[position + 1] << 8) != checksum:
            raise ValueError("a gzip header has another checksum")
        position += 2
    return position


def _snappy_pieces(payload: bytes) -> Iterator[bytes]:
    from kafka.codec import snappy_decode  # noqa: PLC0415 - see the module's docstring

    for start, end in _snappy_blocks(payload):
        announced_bytes = read_unsigned_varint(payload, start)[0]
        if announced_bytes > _SNAPPY_RATIO_MAX * (end - start):
            raise ValueError(f"a snappy block of {end - start} bytes announces {announced_bytes}")
        yield bytes(snappy_decode(payload[start:end]))


def _snappy_blocks(payload: bytes) -> Iterator[tuple[int, int]]:
    end = len(payload)
    if not payload.startswith(_XERIAL_MAGIC) or end < _XERIAL_HEADER_BYTES:
        yield 0, end
        return
    position = _XERIAL_HEADER_BYTES
    while position + _BLOCK_SIZE.size <= end:
        if payload.startswith(_XERIAL_MAGIC, position):  # another stream
            position += _XERIAL_HEADER_BYTES
            continue
        (size,) = _BLOCK_SIZE.unpack_from(payload, position)
        position += _BLOCK_SIZE.size
        if not 0 < size <= end - position:
            raise ValueError(f"snappy block of {size} bytes")
        yield position, position + size
        position += size


def _lz4_pieces(payload: bytes) -> Iterator[bytes]:
    import lz4.frame  # noqa: PLC0415

    decompressor: Any = lz4.frame.LZ4FrameDecompressor()
    if len(payload) > _LZ4_FLAGS_AT and not payload[_LZ4_FLAGS_AT] & 0x20:
        raise ValueError("LZ4 blocks that depend on each other")
    position = 0
    while not decompressor.eof:
        part = b""
        if decompressor.needs_input:
            part = payload[position : position + _INPUT_BYTES]
            position += len(part)
            if not part:
                raise ValueError("LZ4 data ends within a frame")
        piece = bytes(decompressor.decompress(part, _PIECE_BYTES))
        if piece:
            yield piece


def _zstd_pieces(payload: bytes) -> Iterator[bytes]:
    import zstandard  # noqa: PLC0415

    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES_MAX)
    with decompressor.stream_reader(payload, read_across_frames=True) as reader:
        while piece := reader.read(_PIECE_BYTES):
            yield piece
    if not _has_whole_zstd_frames(payload):
        raise ValueError("zstd data ends within a frame")


def _has_whole_zstd_frames(payload: bytes) -> bool:
    """Return whether data that could be decompressed ends with a frame.

    The reader says nothing of a frame that is cut off.
    """
    position, end = 0, len(payload)
    while position < end:
        if not payload.startswith(_ZSTD_MAGIC, position):  # a frame to skip
            position += 8 + int.from_bytes(payload[position + 4 : position + 8], "little")
            continue
        position = _zstd_frame_end(payload, position)
    return position == end


def _zstd_frame_end(payload: bytes, start: int) -> int:
    """Return where a frame ends; behind the end of the payload if it is cut off."""
    end = len(payload)
    if start + 5 > end:
        return end + 1
    descriptor = payload[start + 4]
    is_single_segment = descriptor & 0x20
    size_bytes = (1 if is_single_segment else 0, 2, 4, 8)[descriptor >> 6]
    position = start + 5 + (not is_single_segment) + (0, 1, 2, 4)[descriptor & 3] + size_bytes
    is_last = False
    while not is_last:
        if position + 3 > end:
            return end + 1
        block = int.from_bytes(payload[position : position + 3], "little")
        is_last, is_repeated = bool(block & 1), block >> 1 & 3 == 1
        position += 3 + (1 if is_repeated else block >> 3)
    return position + (4 if descriptor & 4 else 0)


def _to_gzip(payload: bytes, level: int | None) -> bytes:
    compressor = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, -zlib.MAX_WBITS)
    header = _GZIP_MAGIC + bytes(_GZIP_HEADER_BYTES - len(_GZIP_MAGIC))
    trailer = _GZIP_TRAILER.pack(zlib.crc32(payload), len(payload) & 0xFFFFFFFF)
    return b"".join((header, compressor.compress(payload), compressor.flush(), trailer))


def _to_snappy(payload: bytes, _level: int | None) -> bytes:
    from kafka.codec import snappy_encode  # noqa: PLC0415

    return bytes(snappy_encode(payload))


def _to_lz4(payload: bytes, level: int | None) -> bytes:
    import lz4.frame  # noqa: PLC0415

    # Kafka's default of 9 is the fast compressor; any other is that of high compression.
    is_fast = level is None or level == _LZ4_LEVEL_DEFAULT
    compressed: bytes = lz4.frame.compress(
        payload,
        compression_level=0 if is_fast else max(level or 0, lz4.frame.COMPRESSIONLEVEL_MINHC),
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return compressed


def _to_zstd(payload: bytes, level: int | None) -> bytes:
    import zstandard  # noqa: PLC0415

    level = _ZSTD_LEVEL_DEFAULT if level is None else level
    compressor = zstandard.ZstdCompressor(level=level, write_content_size=False)
    return compressor.compress(payload)


_LZ4_LEVEL_DEFAULT: Final = 9
_ZSTD_LEVEL_DEFAULT: Final = 3
_PIECES: dict[int, Callable[[bytes], Iterator[bytes]]] = {
    GZIP: _gzip_pieces,
    SNAPPY: _snappy_pieces,
    LZ4: _lz4_pieces,
    ZSTD: _zstd_pieces,
}
_COMPRESS: dict[int, Callable[[bytes, int | None], bytes]] = {
    NO_COMPRESSION: lambda payload, _level: payload,
    GZIP: _to_gzip,
    SNAPPY: _to_snappy,
    LZ4: _to_lz4,
    ZSTD: _to_zstd,
}
