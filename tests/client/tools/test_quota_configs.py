"""Client quotas with the options of the tool."""

import pytest

from client.errors import ApiError
from client.tools import quota_configs
from client.tools.session import ToolError
from tests.client.scripted import admin_of, quotas, quotas_altered

BOTH: dict[str, str | None] = {"user": "u", "client-id": "c"}


def test_a_quota_is_set_on_the_combination_of_all_entity_types() -> None:
    admin, peer = admin_of(quotas_altered((BOTH, 0)))
    entities: dict[str, str | None] = {"users": "u", "clients": "c"}
    quota_configs.alter(admin, entities, {"controller_mutation_rate": "10"}, [])
    [entry] = peer.requests[0].entries
    assert {part.entity_type: part.entity_name for part in entry.entity} == BOTH
    assert [(op.key, op.value, op.remove) for op in entry.ops] == [
        ("controller_mutation_rate", 10.0, False)
    ]


def test_an_existing_quota_can_be_removed() -> None:
    admin, peer = admin_of(
        quotas(({"client-id": None}, {"producer_byte_rate": 1.0})),
        quotas_altered(({"client-id": None}, 0)),
    )
    quota_configs.alter(admin, {"clients": None}, {}, ["producer_byte_rate"])
    assert peer.requests[0].components[0].match_type == 1
    assert [(op.key, op.remove) for op in peer.requests[1].entries[0].ops] == [
        ("producer_byte_rate", True)
    ]


@pytest.mark.parametrize("present", [[], [({"user": "u"}, {"request_percentage": 1.0})]])
def test_a_missing_quota_cannot_be_removed(
    present: list[tuple[dict[str, str | None], dict[str, float]]],
) -> None:
    admin, peer = admin_of(quotas(*present))
    with pytest.raises(ToolError, match=r"Invalid config\(s\): producer_byte_rate"):
        quota_configs.alter(admin, {"users": "u"}, {}, ["producer_byte_rate"])
    assert len(peer.asked) == 1


@pytest.mark.parametrize(
    ("entities", "added", "word"),
    [
        ({"users": "u"}, {"nonsense": "1"}, "nonsense"),
        ({"users": "u"}, {"connection_creation_rate": "1"}, "connection_creation_rate"),
        ({"clients": "c"}, {"producer_ids_rate": "1"}, "producer_ids_rate"),
        ({"users": "u", "clients": "c"}, {"producer_ids_rate": "1"}, "producer_ids_rate"),
        ({"ips": None}, {"producer_byte_rate": "1"}, "producer_byte_rate"),
        ({"clients": "c"}, {"producer_byte_rate": "much"}, "Cannot parse .* much"),
    ],
)
def test_an_unknown_quota_key_is_refused_before_a_request_is_sent(
    entities: dict[str, str | None], added: dict[str, str], word: str
) -> None:
    admin, peer = admin_of()
    with pytest.raises(ToolError, match=word):
        quota_configs.alter(admin, entities, added, [])
    assert peer.asked == []


@pytest.mark.parametrize(
    ("entities", "key", "hint"),
    [
        ({"users": "u"}, "controller_mutations_rate", "controller_mutation_rate"),
        ({"users": "u"}, "producer_id_rate", "producer_ids_rate"),
        ({"clients": "c"}, "producer_ids_rate", None),
        ({"users": "u"}, "connection_creation_rate", None),
        ({"users": "u"}, "nonsense", None),
    ],
)
def test_a_misspelt_key_is_an_error_with_the_closest_valid_one(
    entities: dict[str, str | None], key: str, hint: str | None
) -> None:
    admin, _ = admin_of()
    with pytest.raises(ToolError) as caught:
        quota_configs.alter(admin, entities, {key: "1"}, [])
    end = f"Unexpected config names: {key}" + (f"; did you mean {hint}?" if hint else "")
    assert str(caught.value).endswith(end)


def test_an_error_of_the_broker_is_raised() -> None:
    admin, _ = admin_of(quotas_altered(({"user": "u"}, 42)))
    with pytest.raises(ApiError, match="INVALID_REQUEST"):
        quota_configs.alter(admin, {"users": "u"}, {"producer_byte_rate": "1"}, [])


def test_describe_filters_strictly_by_name_default_or_any() -> None:
    admin, peer = admin_of(quotas(), quotas())
    quota_configs.describe(admin, {"users": "u"}, ["users", "clients"])
    quota_configs.describe(admin, {"ips": None}, ["ips"])
    assert all(request.strict for request in peer.requests)
    assert [
        (component.entity_type, component.match_type, component.match)
        for request in peer.requests
        for component in request.components
    ] == [("user", 0, "u"), ("client-id", 2, None), ("ip", 1, None)]


def test_entities_and_quotas_are_printed_as_by_kafkas_tool() -> None:
    admin, _ = admin_of(
        quotas(
            (BOTH, {"controller_mutation_rate": 10.0, "consumer_byte_rate": 1024.0}),
            ({"client-id": None, "user": None}, {"producer_byte_rate": 11.0}),
            ({"ip": "127.0.0.5"}, {"connection_creation_rate": 1.5}),
        )
    )
    assert quota_configs.describe(admin, {}, ["users", "clients"]) == [
        "Quota configs for ip '127.0.0.5' are connection_creation_rate=1.5",
        (
            "Quota configs for the default user-principal, the default client-id are"
            " producer_byte_rate=11.0"
        ),
        (
            "Quota configs for user-principal 'u', client-id 'c' are consumer_byte_rate=1024.0,"
            " controller_mutation_rate=10.0"
        ),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (10.0, "10.0"),
        (0.001, "0.001"),
        (9999999.5, "9999999.5"),
        (1e7, "1.0E7"),
        (10485760.0, "1.048576E7"),
        (12345678.0, "1.2345678E7"),
        (0.00025, "2.5E-4"),
        (1e100, "1.0E100"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_are_printed_as_in_java(value: float, text: str) -> None:
    assert quota_configs.double_text(value) == text
