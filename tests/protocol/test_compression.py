"""Payloads are decompressed up to a limit, in all formats of Kafka."""

import gzip
from collections.abc import Callable

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
    decompress,
    decompress_beginning,
)

Compress = Callable[[bytes], bytes]
FORMATS: list[tuple[int, Compress]] = [
    (GZIP, gzip.compress),
    (GZIP, lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:])),
    (SNAPPY, lambda data: bytes(snappy_encode(data))),
    (SNAPPY, lambda data: bytes(snappy_encode(data, xerial_compatible=False))),
    (LZ4, lz4.frame.compress),
    (ZSTD, zstandard.compress),
    (ZSTD, lambda data: zstandard.compress(data[:10]) + zstandard.compress(data[10:])),
]


@pytest.mark.parametrize(("codec", "compress"), FORMATS)
@given(st.binary(min_size=1, max_size=50), st.integers(1, 3_000))
def test_a_payload_may_be_as_large_as_the_limit(
    codec: int, compress: Compress, unit: bytes, count: int
) -> None:
    data = unit * count
    compressed = compress(data)
    assert decompress(compressed, codec, len(data)) == data
    with pytest.raises(TooLargeError, match=f"more than {len(data) - 1} bytes"):
        decompress(compressed, codec, len(data) - 1)
    assert decompress_beginning(compressed, codec, len(data)) == (data, True)
    beginning, is_all = decompress_beginning(compressed, codec, len(data) - 1)
    assert not is_all
    assert data.startswith(beginning)
    assert codec == SNAPPY or len(beginning) == len(data) - 1


def test_the_beginning_of_snappy_has_whole_blocks() -> None:
    blocks = bytes(snappy_encode(b"a" * 40, xerial_blocksize=10))
    assert decompress_beginning(blocks, SNAPPY, 39) == (b"a" * 30, False)
    assert decompress_beginning(blocks, SNAPPY, 9) == (b"", False)


@pytest.mark.parametrize(("codec", "compress"), FORMATS)
def test_damaged_payloads_raise_an_error(codec: int, compress: Compress) -> None:
    compressed = compress(bytes(range(256)) * 10)
    with pytest.raises(Exception, match=r"\w"):
        decompress(b"\xff" * 20 + compressed, codec, 10_000)
    if codec == GZIP:
        with pytest.raises(ValueError, match="ends within a member"):
            decompress(compressed[:-1], codec, 10_000)
