"""The same value has the same hash, and the hash says nothing without the key."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.recording.keyed_hash import KeyedHash

HASH = KeyedHash(b"secret")


@given(st.binary(), st.binary())
def test_hashes_are_equal_where_values_are(first: bytes, second: bytes) -> None:
    assert (HASH.of_bytes(first) == HASH.of_bytes(second)) == (first == second)
    assert HASH.of_bytes(first) != KeyedHash(b"other").of_bytes(first)
    assert len(HASH.of_bytes(first)) == 32


def test_a_string_in_json_has_the_hash_of_the_same_key() -> None:
    assert HASH.of_json("alice") == HASH.of_bytes(b"alice").decode()


@pytest.mark.parametrize(("first", "second", "is_same"), [(1, 1.0, True), (1, 1.5, False)])
def test_numbers_stay_numbers(first: float, second: float, is_same: bool) -> None:
    hashed = HASH.of_json(first)
    assert isinstance(hashed, int)
    assert 0 <= hashed < 2**53
    assert (hashed == HASH.of_json(second)) is is_same


def test_inside_of_objects_only_strings_and_numbers_change() -> None:
    value: Any = {"a": ["x", 1, None, True], "b": {"c": "x"}}
    hashed = HASH.of_json(value)
    assert hashed == {
        "a": [HASH.of_json("x"), HASH.of_json(1), None, True],
        "b": {"c": HASH.of_json("x")},
    }
    assert value["b"] == {"c": "x"}


def test_half_of_a_surrogate_pair_and_numbers_that_json_has_not_are_hashed() -> None:
    assert HASH.of_json("\ud800") != HASH.of_json("\ud801")
    assert HASH.of_json(float("inf")) != HASH.of_json(float("nan"))
