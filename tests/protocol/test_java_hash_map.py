"""Java's order of strings, with orders that brokers of Kafka returned."""

import pytest

from protocol.java_hash_map import copy_capacity, hash_map_order, string_hash


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("metadata.version", 0x417E0919), ("é", 0xE9), ("\U0001f600", 1772899)],
)
def test_strings_have_javas_hash_code(text: str, expected: int) -> None:
    assert string_hash(text) == expected


def test_names_come_in_the_order_of_a_new_map() -> None:
    # metadata.version and share.version are in one bucket.
    names = ["eligible.leader.replicas.version", "transaction.version", "metadata.version"]
    names += ["share.version", "kraft.version", "group.version"]
    assert hash_map_order(names) == [
        "group.version",
        "kraft.version",
        "metadata.version",
        "share.version",
        "transaction.version",
        "eligible.leader.replicas.version",
    ]


@pytest.mark.parametrize(
    "expected",
    [
        ["eligible.leader.replicas.version", "transaction.version", "metadata.version"],
        ["transaction.version", "metadata.version"],
        ["kraft.version", "transaction.version", "metadata.version"],
    ],
)
def test_a_copied_map_has_another_order(expected: list[str]) -> None:
    assert hash_map_order(sorted(expected), copy_capacity(len(expected) - 1)) == expected


@pytest.mark.parametrize(("count", "capacity"), [(0, 1), (1, 2), (2, 4), (3, 8), (5, 8), (6, 16)])
def test_a_copy_has_room_for_three_quarters(count: int, capacity: int) -> None:
    assert copy_capacity(count) == capacity


def test_a_map_grows_when_it_is_three_quarters_full() -> None:
    names = [chr(code) for code in range(96, 96 + 13)]
    # 13 names need 32 buckets: "`" (96) stays first there.
    assert hash_map_order(reversed(names)) == names
