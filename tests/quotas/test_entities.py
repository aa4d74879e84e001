import pytest

from quotas.entities import (
    QUOTA_KEYS,
    canonical_ip,
    entity_problem,
    family_of,
    is_ip,
    make_entity,
    release_problem,
)
from tests.protocol.counting_turn import pauses_of


def test_the_types_of_an_entity_have_one_order() -> None:
    assert make_entity([("client-id", "c"), ("user", None)]) == (("user", None), ("client-id", "c"))
    assert family_of(make_entity([("client-id", "c"), ("user", "u")])) == ("user", "client-id")


def test_the_last_name_of_a_type_counts() -> None:
    assert make_entity([("user", "a"), ("user", "b")]) == (("user", "b"),)


def test_an_entity_of_many_types_pauses_at_each_of_them() -> None:
    names = [(f"type-{number}", "a") for number in range(1000)]
    assert pauses_of(lambda: make_entity(names)) == 2 * len(names)


@pytest.mark.parametrize(
    "names",
    [
        [("user", "a")],
        [("user", None)],
        [("client-id", "<default>")],
        [("user", "a"), ("client-id", None)],
        [("ip", None)],
        [("ip", "127.0.0.1")],
        [("ip", "::1")],
    ],
)
def test_quotas_can_be_set_on(names: list[tuple[str, str | None]]) -> None:
    assert entity_problem(make_entity(names)) is None


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "empty client quota entity"),
        ([("", "a")], "Unhandled client quota entity type"),
        ([("group", "a")], "Unhandled client quota entity type: group"),
        ([("user", "a"), ("group", "a")], "Unhandled client quota entity type: group"),
        ([("user", "")], "Empty user not supported"),
        ([("client-id", "")], "Empty client-id not supported"),
        ([("ip", "127.0.0.1"), ("user", "a")], "Invalid quota entity combination"),
        ([("client-id", None), ("ip", None)], "Invalid quota entity combination"),
        ([("ip", "not an address")], "not an address is not a valid IP"),
        ([("ip", "256.0.0.1")], "not a valid IP"),
    ],
)
def test_quotas_cannot_be_set_on(names: list[tuple[str, str | None]], message: str) -> None:
    assert message in (entity_problem(make_entity(names)) or "")


def test_an_address_has_one_spelling() -> None:
    assert canonical_ip("0:0:0:0:0:0:0:1") == canonical_ip("::1") == "::1"
    assert canonical_ip(None) is None
    assert not is_ip("localhost")


def test_ip_quotas_are_separate_from_quotas_of_users() -> None:
    for key in QUOTA_KEYS.values():
        assert (("ip",) in key.families) == (key.name == "connection_creation_rate")


@pytest.mark.parametrize(
    ("entity", "keys", "release", "problem"),
    [
        ({"user": "a"}, ["controller_mutation_rate"], (2, 6), "Invalid configuration key"),
        ({"user": "a"}, ["controller_mutation_rate"], (2, 7), None),
        ({"user": "a"}, ["request_percentage", "producer_ids_rate", "nonsense"], (2, 6), None),
        ({"ip": None}, [], (2, 7), "Unhandled client quota entity type: ip"),
        ({"ip": None}, ["connection_creation_rate"], (2, 8), None),
    ],
)
def test_a_release_refuses_newer_keys_and_entity_types(
    entity: dict[str, str | None], keys: list[str], release: tuple[int, int], problem: str | None
) -> None:
    found = release_problem(make_entity(entity.items()), keys, release)
    assert (found or "").startswith(problem or "")
    assert (found is None) == (problem is None)
