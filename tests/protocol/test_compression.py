"""Payloads are decompressed up to a limit, in all formats of Kafka."""

import gzip
from collections.abc import Callable
from functools import partial
from typing import Any

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from kafka.codec import snappy_encode

from protocol.compression import (
    GZIP,
    LZ4,
    SNAPPY,
    ZSTD,
    TooLargeError,
    compress,
    decompress,
    decompress_beginning,
    decompressed_pieces,
)

Compress = Callable[[bytes], bytes]
FORMATS: list[tuple[int, Compress]] = [
    (GZIP, gzip.compress),
    (GZIP, lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:])),
    (SNAPPY, lambda data: bytes(snappy_encode(data))),
    (SNAPPY, lambda data: bytes(snappy_encode(data, xerial_compatible=False))),
    (LZ4, lambda data: lz4.frame.compress(data, block_linked=False)),
    *((codec, partial(compress, codec=codec)) for codec in (GZIP, SNAPPY, LZ4, ZSTD)),
    (ZSTD, zstandard.compress),
    (ZSTD, lambda data: zstandard.compress(data[:10]) + zstandard.compress(data[10:])),
]


@pytest.mark.parametrize(("codec", "to_format"), FORMATS)
@given(st.binary(min_size=1, max_size=50), st.integers(1, 3_000))
def test_a_payload_may_be_as_large_as_the_limit(
    codec: int, to_format: Compress, unit: bytes, count: int
) -> None:
    data = unit * count
    compressed = to_format(data)
    assert decompress(compressed, codec, len(data)) == data
    with pytest.raises(TooLargeError, match=f"more than {len(data) - 1} bytes"):
        decompress(compressed, codec, len(data) - 1)
    assert decompress_beginning(compressed, codec, len(data)) == (data, True)
    beginning, is_all = decompress_beginning(compressed, codec, len(data) - 1)
    assert not is_all
    assert beginning == data[:-1]


@pytest.mark.parametrize(("codec", "to_format"), FORMATS)
def test_damaged_payloads_raise_an_error(codec: int, to_format: Compress) -> None:
    compressed = to_format(bytes(range(256)) * 10)
    with pytest.raises(Exception, match=r"\w"):
        decompress(b"\xff" * 20 + compressed, codec, 10_000)
    for cut in (1, 5, len(compressed) // 2):
        with pytest.raises(Exception):  # noqa: B017, PT011 - each codec has its own errors
            decompress(compressed[:-cut], codec, 10_000)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
@given(st.binary(max_size=300), st.integers(1, 2_000))
def test_pieces_are_small_whatever_they_are_made_of(codec: int, unit: bytes, count: int) -> None:
    data = unit * count
    pieces = list(decompressed_pieces(compress(data, codec), codec))
    assert b"".join(pieces) == data
    assert all(len(piece) <= 64 * 1024 for piece in pieces)


@pytest.mark.parametrize(
    ("codec", "levels"), [(GZIP, (-1, 1, 9)), (LZ4, (1, 9, 17)), (ZSTD, (-131072, 3, 22))]
)
def test_each_level_of_a_codec_compresses(codec: int, levels: tuple[int, ...]) -> None:
    data = b"".join(b"record %d, " % number for number in range(5_000))
    sizes = [len(compress(data, codec, level)) for level in levels]
    assert [decompress(compress(data, codec, level), codec, len(data)) for level in levels] == (
        [data] * len(levels)
    )
    assert sizes[0] >= sizes[-1]
    assert compress(data, codec) == compress(data, codec, {GZIP: -1, LZ4: 9, ZSTD: 3}[codec])


def test_a_gzip_checksum_is_checked_behind_the_data_and_what_follows_is_ignored() -> None:
    data = bytes(range(256)) * 10
    compressed = gzip.compress(data)
    for name_and_comment in (
        b"",
        b"\x1f\x8b\x08\x18" + bytes(6) + b"name\0why\0" + compressed[10:],
    ):
        assert decompress((name_and_comment or compressed) + b"tail", GZIP, 10_000) == data
    pieces = decompressed_pieces(compressed[:-8] + bytes(8), GZIP)
    assert next(pieces) == data
    with pytest.raises(ValueError, match="checksum"):
        next(pieces)


def test_blocks_of_lz4_must_not_depend_on_each_other() -> None:
    linked = lz4.frame.compress(bytes(range(256)) * 1000, block_linked=True)
    with pytest.raises(ValueError, match="depend"):
        decompress(linked, LZ4, 1 << 20)


def test_a_snappy_block_cannot_announce_more_than_it_can_have() -> None:
    block = b"\xff\xff\xff\xff\x07" + b"x" * 20  # 2 GiB
    with pytest.raises(ValueError, match="announces"):
        decompress(block, SNAPPY, 1 << 40)


def test_a_zstd_frame_that_is_cut_off_is_damaged_behind_its_data() -> None:
    data = bytes(range(256)) * 2000
    kinds: tuple[dict[str, Any], ...]
    kinds = {}, {"write_checksum": True}, {"write_content_size": False}
    for options in kinds:
        compressed = zstandard.ZstdCompressor(**options).compress(data)
        skipped = b"\x50\x2a\x4d\x18\4\0\0\0skip"
        assert decompress(skipped + compressed + skipped + compressed, ZSTD, 1 << 21) == data * 2
        with pytest.raises(ValueError, match="within a frame"):
            decompress(compressed[:-1], ZSTD, 1 << 21)
