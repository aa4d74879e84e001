"""Join metadata may be any bytes."""

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.groups.subscription import subscribed_topics


def encode(version: int, topics: list[str], rest: bytes) -> bytes:
    names = [name.encode() for name in topics]
    body = b"".join(pack(">h", len(name)) + name for name in names)
    return pack(">hi", version, len(names)) + body + rest


@given(st.integers(0, 9), st.lists(st.text(max_size=30), max_size=5), st.binary(max_size=20))
def test_fields_of_later_versions_are_ignored(version: int, topics: list[str], rest: bytes) -> None:
    topics = [name.encode(errors="ignore").decode() for name in topics]
    assert subscribed_topics(encode(version, topics, rest)) == frozenset(topics)


@given(st.binary(max_size=60))
def test_any_bytes_are_accepted(metadata: bytes) -> None:
    found = subscribed_topics(metadata)
    assert found is None or all(isinstance(name, str) for name in found)


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"\x00\x00\x00\x00\x00",
        pack(">hi", -1, 0),
        pack(">hi", 0, -1),
        pack(">hi", 0, 2**31 - 1),
        pack(">hih", 0, 1, -1),
        pack(">hih", 0, 1, 3) + b"ab",
        pack(">hih", 0, 1, 1) + b"\xff",
    ],
)
def test_invalid_metadata_has_no_topics(metadata: bytes) -> None:
    assert subscribed_topics(metadata) is None
