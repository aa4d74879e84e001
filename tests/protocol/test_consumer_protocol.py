"""Subscriptions and assignments of consumers; the metadata of JoinGroup may be any bytes."""

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.codec import DecodeError
from protocol.consumer_protocol import (
    decode_assignment,
    encode_assignment,
    encode_subscription,
    subscribed_topics,
)
from protocol.pacing import LOOK_EVERY
from tests.broker.interleaving import run_with_pauses


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


def test_a_subscription_is_kafkas_own_bytes() -> None:
    assert encode_subscription(["ab"]) == bytes.fromhex("0000 00000001 0002") + b"ab" + b"\xff" * 4
    assert subscribed_topics(encode_subscription(["ab", "c"])) == frozenset({"ab", "c"})


@given(st.dictionaries(st.text(max_size=20), st.lists(st.integers(0, 2**31 - 1), max_size=20)))
def test_an_assignment_survives_its_bytes(partitions: dict[str, list[int]]) -> None:
    assert decode_assignment(encode_assignment(partitions)) == partitions


def test_nothing_assigned_is_nothing() -> None:
    assert decode_assignment(b"") == {}


@given(st.dictionaries(st.text(max_size=5), st.lists(st.integers(0, 9), max_size=3)), st.data())
def test_an_assignment_that_is_cut_off_is_refused(
    partitions: dict[str, list[int]], data: st.DataObject
) -> None:
    encoded = encode_assignment(partitions)[:-4]  # without the user data, which is not read
    with pytest.raises(DecodeError):
        decode_assignment(encoded[: data.draw(st.integers(1, len(encoded) - 1))])


@pytest.mark.parametrize("end", ["ffff", "0001 61", "0001 61 ffffffff", "0001 61 7fffffff"])
def test_an_assignment_with_an_impossible_length_is_refused(end: str) -> None:
    with pytest.raises(DecodeError):
        decode_assignment(bytes.fromhex("0000 00000001" + end))


def test_a_subscription_is_read_in_one_go_unless_it_may_pause() -> None:
    """A rebalance reads those of all members, who must not change until then."""
    metadata = encode_subscription([f"topic-{number}" for number in range(2 * LOOK_EVERY)])
    pauses: list[None] = []

    def note() -> None:
        pauses.append(None)

    in_one_go = run_with_pauses(lambda: subscribed_topics(metadata), note)
    assert pauses == []
    assert run_with_pauses(lambda: subscribed_topics(metadata, is_paced=True), note) == in_one_go
    assert pauses
