"""The order of hash maps: the expected values are what a Java virtual machine printed."""

from base64 import urlsafe_b64decode
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.hash_order import (
    grown_capacity,
    ids_in_hash_order,
    in_hash_order,
    in_set_order,
    int_hash,
    joined_hash,
    map_hash,
    string_hash,
    topic_partition_hash,
    uuid_hash,
)
from protocol.pacing import LOOK_EVERY
from tests.protocol.counting_turn import pauses_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("user", 3599307),
        ("client-id", 2390829661),
        ("ip", 3367),
        ("\N{GRINNING FACE}", 1772899),
        ("\N{LATIN CAPITAL LETTER A WITH DIAERESIS}pfel", 184447969),
    ],
)
def test_the_hash_of_a_string_is_that_of_java(text: str, expected: int) -> None:
    assert string_hash(text) == expected


@given(st.text(), st.text())
def test_the_hash_of_a_string_follows_from_that_of_its_first_part(first: str, rest: str) -> None:
    assert joined_hash(string_hash(first), rest) == string_hash(first + rest)


def test_the_hash_of_a_map_is_that_of_java() -> None:
    assert map_hash([("user", "alice"), ("client-id", None)]) == 2487265192


def test_the_hash_of_a_partition_is_that_of_java() -> None:
    assert topic_partition_hash("__consumer_offsets", 49) == 3324598407
    assert topic_partition_hash("a", -1) == 1027


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AAAAAAAAAAAAAAAAAAAAAQ", 1),
        ("7777777777777777777777", 1158959429),
        ("xtzWWN4bTjitpL3kfd9s5g", 3367782754),
    ],
)
def test_the_hash_of_a_topic_id_is_that_of_java(text: str, expected: int) -> None:
    assert uuid_hash(UUID(bytes=urlsafe_b64decode(f"{text}=="))) == expected


def test_integers_come_in_the_order_of_a_hash_map() -> None:
    keys = [17, 3, -1, 1, 16, 0, 1000]
    assert in_hash_order(keys, int_hash) == [-1, 16, 0, 17, 1, 3, 1000]


@pytest.mark.parametrize(
    ("count", "capacity_min", "expected"),
    [
        (3, 16, [37, 0, 74]),
        (3, 1, [0, 37, 74]),
        (12, 16, [111, 37, 296, 185, 148, 333, 222, 0, 74, 259, 370, 407]),
        (13, 16, [111, 296, 185, 148, 444, 333, 222, 0, 74, 259, 407, 37, 370]),
        (13, 1, [111, 296, 185, 148, 444, 333, 222, 0, 74, 259, 407, 37, 370]),
    ],
)
def test_keys_come_in_the_order_of_a_hash_map(
    count: int, capacity_min: int, expected: list[int]
) -> None:
    keys = [f"topic-{number * 37}" for number in range(count)]
    ordered = in_hash_order(keys, string_hash, capacity_min=capacity_min)
    assert ordered == [f"topic-{number}" for number in expected]


def test_strings_of_a_set_come_in_its_order() -> None:
    # As from Java 17's HashSet of the sorted list.
    assert in_set_order(["b", "aa", "c", "a"]) == ["aa", "a", "b", "c"]
    ordered = in_set_order(f"topic-{number * 37}" for number in range(12))
    numbers = [111, 296, 185, 148, 333, 222, 0, 259, 74, 407, 37, 370]
    assert ordered == [f"topic-{number}" for number in numbers]


def test_keys_of_one_bucket_stay_in_the_order_of_their_insertion() -> None:
    assert in_hash_order(["b", "a"], lambda _key: 5) == ["b", "a"]


def test_many_keys_pause_at_their_hashes_and_at_the_buckets() -> None:
    keys = list(range(10_000))
    buckets = 1 << 14
    pauses = pauses_of(lambda: in_hash_order(keys, int_hash))
    assert pauses == -(-len(keys) // LOOK_EVERY) + buckets // LOOK_EVERY
    # What changes few keys relies on this.
    assert pauses_of(lambda: in_hash_order(range(16), int_hash)) == 0


@given(st.sets(st.integers(0, 2**31 - 1), max_size=40))
def test_a_few_ids_have_the_order_of_all_keys(ids: set[int]) -> None:
    assert ids_in_hash_order(ids) == in_hash_order(sorted(ids), int_hash)


def test_the_buckets_of_a_map_are_a_power_of_two() -> None:
    assert [grown_capacity(2, minimum) for minimum in (1, 2, 3, 5, 16, 17)] == [4, 4, 4, 8, 16, 32]
    assert [grown_capacity(count) for count in (0, 12, 13, 25)] == [16, 16, 32, 64]
