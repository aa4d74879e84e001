"""Fields that are read and written by hand are those of the schema's codec, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.short_fields import (
    COUNT_MAX,
    NotShortError,
    end_of_tags,
    read_compact_count,
    read_compact_text,
    read_count,
    read_text,
    write_compact_text,
    write_text,
)

TEXTS = st.text(max_size=COUNT_MAX // 4)


@given(TEXTS, st.binary(max_size=5))
def test_a_text_is_read_as_it_was_written(text: str, before: bytes) -> None:
    compact, old = write_compact_text(text), write_text(text)
    assert compact is not None
    position = len(before)

    assert read_compact_text(before + compact, position) == (text, position + len(compact))
    assert read_text(before + old, position) == (text, position + len(old))


def test_null_is_no_text() -> None:
    assert read_compact_text(b"\0", 0) == (None, 1)
    assert read_text(b"\xff\xff", 0) == (None, 2)


def test_a_long_compact_text_is_left_to_the_codec() -> None:
    longest = "x" * COUNT_MAX
    assert write_compact_text(longest + "x") is None
    assert read_compact_text(write_compact_text(longest) or b"", 0) == (longest, COUNT_MAX + 1)
    with pytest.raises(NotShortError):
        read_compact_text(b"\x80\x01" + bytes(127), 0)


@pytest.mark.parametrize("count", [0, 1, COUNT_MAX])
def test_a_count_is_read(count: int) -> None:
    assert read_compact_count(bytes((count + 1,)), 0) == (count, 1)
    assert read_count(count.to_bytes(4, "big"), 0) == (count, 4)


@pytest.mark.parametrize("count", [-1, COUNT_MAX + 1])
def test_a_null_or_long_array_is_left_to_the_codec(count: int) -> None:
    with pytest.raises(NotShortError):
        read_compact_count(bytes((count + 1,)), 0)
    with pytest.raises(NotShortError):
        read_count(count.to_bytes(4, "big", signed=True), 0)


def test_tagged_fields_are_left_to_the_codec() -> None:
    assert end_of_tags(b"\0", 0) == 1
    with pytest.raises(NotShortError):
        end_of_tags(b"\1\0\0", 0)
