"""Any chunking of a stream into reads gives the same frames."""

from struct import pack
from sys import getrefcount

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.framing import UNEXPECTED_TLS, FrameError, FrameReader


def drain(reader: FrameReader) -> list[bytes]:
    frames = []
    while (frame := reader.next_frame()) is not None:
        buffer, start, end = frame
        frames.append(bytes(buffer[start:end]))
    return frames


@given(
    st.lists(st.binary(max_size=40), max_size=12),
    st.lists(st.integers(1, 60), max_size=30),
    st.lists(st.booleans(), max_size=30),
)
def test_any_chunking_gives_the_same_frames(
    payloads: list[bytes], cuts: list[int], takes: list[bool]
) -> None:
    stream = b"".join(pack(">i", len(payload)) + payload for payload in payloads)
    reader, seen, held, position = FrameReader(100), [], [], 0
    for number, cut in enumerate([*cuts, len(stream)]):
        reader.feed(stream[position : position + cut])
        position += cut
        assert reader.is_empty == (reader.buffered_bytes == 0)
        # A muted connection feeds without taking; a view into a taken frame must survive both.
        if number >= len(takes) or takes[number]:
            while (frame := reader.next_frame()) is not None:
                buffer, start, end = frame
                held.append(memoryview(buffer)[start:end])
                seen.append(bytes(buffer[start:end]))
                assert reader.is_empty == (reader.buffered_bytes == 0)
    seen += drain(reader)

    assert seen == payloads
    assert [bytes(view) for view in held] == payloads[: len(held)]
    assert reader.buffered_bytes == 0


def test_a_frame_of_the_maximum_size_is_accepted_and_one_byte_more_is_refused() -> None:
    reader = FrameReader(8)
    reader.feed(pack(">i", 8) + b"12345678")
    assert drain(reader) == [b"12345678"]

    reader.feed(pack(">i", 9))
    with pytest.raises(FrameError, match=r"socket\.request\.max\.bytes"):
        reader.next_frame()


def test_a_negative_size_ends_the_stream() -> None:
    reader = FrameReader(8)
    reader.feed(pack(">i", -1))
    with pytest.raises(FrameError, match="negative"):
        reader.next_frame()


def test_a_large_frame_in_small_reads_grows_one_buffer_in_place() -> None:
    reader = FrameReader(1 << 20)
    reader.feed(pack(">i", 1 << 20))
    reader.feed(b"x")
    buffer = reader._buffer
    for _ in range(1000):
        reader.feed(b"y" * 1000)
    assert reader._buffer is buffer


def test_returned_frames_are_not_kept() -> None:
    reader = FrameReader(100_000)
    data = pack(">i", 50_000) + b"x" * 50_000
    references = getrefcount(data)
    reader.feed(data)
    assert getrefcount(data) > references
    assert reader.next_frame() is not None
    assert getrefcount(data) == references
    assert reader.buffered_bytes == 0


def test_an_empty_reader_takes_bytes_from_the_middle_of_a_read() -> None:
    reader = FrameReader(100)
    assert reader.is_empty

    reader.feed(b"other" + pack(">i3s", 3, b"abc") + b"\0\0", 5)

    frame = reader.next_frame()
    assert frame is not None
    assert frame[0][frame[1] : frame[2]] == b"abc"
    assert not reader.is_empty
    assert reader.buffered_bytes == 2


@pytest.mark.parametrize("start", [b"\x16\x03\x01\x02", b"\x15\x03\x03\x00"])
def test_tls_in_place_of_a_size_is_named(start: bytes) -> None:
    reader = FrameReader(100 * 1024 * 1024)
    reader.feed(start)
    with pytest.raises(FrameError) as raised:
        reader.next_frame()
    assert str(raised.value) == UNEXPECTED_TLS
