from math import inf, nan

import pytest

from protocol.client_quotas import QuotaMatch
from quotas.client_quotas import ClientQuotas, Component, FilterProblem
from quotas.entities import Entity, make_entity
from tests.broker.interleaving import at_pause, once, run_with_pauses

USER_AND_CLIENT = make_entity([("user", "user"), ("client-id", "client-id")])
USER = make_entity([("user", "user")])
IP = make_entity([("ip", "1.2.3.4")])

P, C, R, M = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)


def described(quotas: ClientQuotas) -> dict[Entity, dict[str, float]]:
    found = quotas.describe([], strict=False)
    assert isinstance(found, list)
    return dict(found)


def test_a_sequence_of_changes() -> None:
    quotas = ClientQuotas()
    seen = []
    for changes in (
        [(P, 10_000.0), (C, 20_000.0)],
        [(P, 15_000.0)],
        [(P, None)],
        [(R, None)],
        [(P, 5000.0)],
        [(P, 20_000.0), (C, None), (R, 12.3)],
    ):
        assert quotas.alter(USER_AND_CLIENT, changes) is None
        seen.append(described(quotas)[USER_AND_CLIENT])

    assert seen == [
        {P: 10_000, C: 20_000},
        {P: 15_000, C: 20_000},
        {C: 20_000},
        {C: 20_000},
        {P: 5000, C: 20_000},
        {P: 20_000, R: 12.3},
    ]


@pytest.mark.parametrize(
    ("alterations", "last"),
    [
        (["P C R"], "C R P"),
        (["R P"], "R P"),
        (["P", "R"], "P R"),
        (["P", "R", "C"], "C P R"),
        (["R C"], "C R"),
        (["R M P C"], "P C M R"),
        (["P M R I", "-M -I"], "P R"),
        (["P M R I C", "-M -I -C", "P"], "P R"),
        (["P M R I", "-M -I", "M"], "M P R"),
        (["P C M", "-C", "C", "-M"], "C P"),
    ],
)
def test_keys_are_described_in_the_order_of_kafkas_map(alterations: list[str], last: str) -> None:
    """The orders are those of `ClientQuotasDelta` of Kafka 4.1.0 and 4.4.0."""
    keys = {"P": P, "C": C, "R": R, "M": M, "I": "producer_ids_rate"}
    quotas = ClientQuotas()
    for number, alteration in enumerate(alterations, 1):
        changes = [
            (keys[word[-1]], None if word.startswith("-") else float(number))
            for word in alteration.split()
        ]
        assert quotas.alter(USER, changes) is None
    assert list(described(quotas)[USER]) == [keys[word] for word in last.split()]


@pytest.mark.parametrize(
    ("entity", "changes", "message"),
    [
        (make_entity([("user", "")]), [(P, 1.0)], "Empty user"),
        (make_entity([("client-id", "")]), [(P, 1.0)], "Empty client-id"),
        (make_entity([("", "name")]), [(P, 1.0)], "Unhandled client quota entity type"),
        ((), [(P, 1.0)], "Invalid empty client quota entity"),
        (USER, [("bad", 1.0)], "Invalid configuration key bad"),
        (USER, [(P, 10_000.5)], "cannot be a fractional value"),
        (USER, [(P, 0.0)], "must be greater than 0"),
        (USER, [(M, -1.0)], "must be greater than 0"),
        (USER, [(M, inf)], "must be a number"),
        (USER, [(M, nan)], "must be a number"),
        (USER, [(P, 2.0**64)], "too large for a LONG."),
        (IP, [("connection_creation_rate", 2.0**31)], "too large for an INT."),
        (IP, [("connection_creation_rate", 1.5)], "cannot be a fractional value"),
        (IP, [(P, 1.0)], "Invalid configuration key producer_byte_rate"),
        (
            USER_AND_CLIENT,
            [("connection_creation_rate", 1.0)],
            "Invalid configuration key connection_creation_rate",
        ),
        (USER_AND_CLIENT, [("producer_ids_rate", 5.0)], "it is for a user"),
        (make_entity([("client-id", "c")]), [("producer_ids_rate", 5.0)], "it is for a user"),
        (IP, [("producer_ids_rate", 5.0)], "key producer_ids_rate; it is for a user"),
        (USER, [(P, 1.0), (P, 2.0)], "Duplicate quota key producer_byte_rate"),
        (USER, [(P, 1.0), (P, None)], "Duplicate quota key producer_byte_rate"),
        (
            USER,
            [("controller_mutations_rate", 5.0)],
            "key controller_mutations_rate; it is controller_mutation_rate",
        ),
    ],
)
def test_an_invalid_change_changes_nothing(
    entity: Entity, changes: list[tuple[str, float | None]], message: str
) -> None:
    quotas = ClientQuotas()

    valid = [(C, 5.0)] if entity == USER else []
    assert message in (quotas.alter(entity, [*valid, *changes]) or "")
    assert described(quotas) == {}
    assert not quotas.limits[C].is_enabled


@pytest.mark.parametrize("value", [1.0, 12.0000001, 2.0**53])
def test_an_integral_value_may_differ_by_a_millionth(value: float) -> None:
    quotas = ClientQuotas()

    assert quotas.alter(USER, [(P, value)]) is None
    assert described(quotas)[USER] == {P: value}


def test_removing_a_key_that_is_not_set_is_no_error() -> None:
    quotas = ClientQuotas()

    assert (
        quotas.alter(USER, [(P, None), ("bad", None), ("controller_mutations_rate", None)]) is None
    )
    assert described(quotas) == {}


def test_an_entity_is_removed_with_its_last_key() -> None:
    quotas = ClientQuotas()
    quotas.alter(USER, [(P, 1.0), (C, 2.0)])
    quotas.alter(USER, [(P, None)])
    assert described(quotas) == {USER: {C: 2}}
    quotas.alter(USER, [(C, None)])

    assert described(quotas) == {}


def test_validate_only_changes_no_quota() -> None:
    quotas = ClientQuotas()

    assert quotas.alter(USER, [(P, 1.0)], validate_only=True) is None
    assert quotas.alter(USER, [(P, -1.0)], validate_only=True) is not None
    assert described(quotas) == {}
    assert not quotas.limits[P].is_enabled


def test_the_name_default_in_brackets_is_an_ordinary_name() -> None:
    quotas = ClientQuotas()
    quotas.alter(make_entity([("user", "<default>")]), [(P, 1.0)])
    quotas.alter(make_entity([("user", None)]), [(P, 2.0)])

    assert quotas.limits[P].scope("<default>", "c").limit == 1
    assert quotas.limits[P].scope("anybody", "c").limit == 2


def test_shadow_mode_is_of_one_key_of_one_entity_and_stays_when_its_value_changes() -> None:
    quotas = ClientQuotas()
    alice = make_entity([("user", "alice")])
    assert quotas.alter(alice, [("producer_byte_rate", 5)]) is None
    assert quotas.alter(alice, [("producer_ids_rate", 5)], is_shadow=True) is None
    assert quotas.shadow_keys(alice) == ["producer_ids_rate"]

    assert quotas.alter(alice, [("producer_ids_rate", 6), ("producer_byte_rate", 6)]) is None
    assert quotas.shadow_keys(alice) == ["producer_ids_rate"]
    assert quotas.alter(alice, [("producer_ids_rate", 6)], is_shadow=False) is None
    assert quotas.shadow_keys(alice) == []


def test_a_shadow_quota_that_is_removed_and_set_again_is_enforced() -> None:
    quotas = ClientQuotas()
    alice = make_entity([("user", "alice")])
    assert quotas.alter(alice, [("producer_byte_rate", 5)], is_shadow=True) is None
    assert quotas.alter(alice, [("producer_byte_rate", None)]) is None
    assert quotas.shadow_keys(alice) == []
    assert quotas.alter(alice, [("producer_byte_rate", 5)]) is None
    assert quotas.shadow_keys(alice) == []


def test_the_quota_on_connections_has_no_shadow_mode() -> None:
    quotas = ClientQuotas()
    address = make_entity([("ip", "127.0.0.1")])
    problem = quotas.alter(address, [("connection_creation_rate", 5)], is_shadow=True)

    assert problem == "connection_creation_rate has no shadow mode"
    assert quotas.describe([], strict=False) == []


def test_a_key_shadows_no_other_key() -> None:
    quotas = ClientQuotas()
    quotas.alter(USER_AND_CLIENT, [(P, 1.0)])
    quotas.alter(USER, [(C, 2.0)])

    assert quotas.limits[P].scope("user", "client-id").limit == 1
    assert quotas.limits[C].scope("user", "client-id").limit == 2


THIRTEEN: list[list[tuple[str, str | None]]] = [
    [("user", "u1"), ("client-id", "c1")],
    [("user", "u2"), ("client-id", "c1")],
    [("user", "u3"), ("client-id", "c2")],
    [("user", None), ("client-id", "c1")],
    [("user", "u1"), ("client-id", None)],
    [("user", "u3"), ("client-id", None)],
    [("user", "u1")],
    [("user", "u2")],
    [("user", "u3")],
    [("user", None)],
    [("client-id", "c2")],
    [("ip", "1.2.3.4")],
    [("ip", "2.3.4.5")],
]


@pytest.fixture
def thirteen() -> ClientQuotas:
    quotas = ClientQuotas()
    for names in THIRTEEN:
        key = "connection_creation_rate" if names[0][0] == "ip" else R
        assert quotas.alter(make_entity(names), [(key, 10.0)]) is None
    return quotas


@pytest.mark.parametrize(
    ("components", "strict", "hits"),
    [
        ([Component("user", QuotaMatch.EXACT, "u1")], False, 3),
        ([Component("user", QuotaMatch.EXACT, "unknown")], False, 0),
        ([Component("client-id", QuotaMatch.EXACT, "c2")], False, 2),
        ([Component("user", QuotaMatch.DEFAULT, None)], False, 2),
        ([Component("user", QuotaMatch.EXACT, "u2")], True, 1),
        ([Component("client-id", QuotaMatch.EXACT, "c1")], True, 0),
        ([Component("user", QuotaMatch.ANY, None)], True, 4),
        ([Component("user", QuotaMatch.ANY, None)], False, 10),
        ([Component("client-id", QuotaMatch.ANY, None)], True, 1),
        ([Component("client-id", QuotaMatch.ANY, None)], False, 7),
        ([Component("ip", QuotaMatch.ANY, None)], False, 2),
        ([], False, 13),
        ([], True, 0),
        (
            [
                Component("user", QuotaMatch.EXACT, "u1"),
                Component("client-id", QuotaMatch.DEFAULT, None),
            ],
            True,
            1,
        ),
    ],
)
def test_a_filter_returns_matching_entities(
    thirteen: ClientQuotas, components: list[Component], *, strict: bool, hits: int
) -> None:
    found = thirteen.describe(components, strict=strict)

    assert isinstance(found, list)
    assert len(found) == hits


@pytest.mark.parametrize(
    ("components", "message", "is_unsupported"),
    [
        ([Component("", QuotaMatch.EXACT, "a")], "empty entity type", False),
        (
            [Component("user", QuotaMatch.EXACT, "a"), Component("user", QuotaMatch.ANY, None)],
            "more than once",
            False,
        ),
        ([Component("user", QuotaMatch.EXACT, None)], "MATCH_TYPE_EXACT", False),
        ([Component("user", QuotaMatch.DEFAULT, "a")], "MATCH_TYPE_DEFAULT", False),
        ([Component("user", QuotaMatch.ANY, "a")], "MATCH_TYPE_SPECIFIED", False),
        ([Component("user", 3, None)], "Unknown match type 3", False),
        (
            [Component("ip", QuotaMatch.ANY, None), Component("client-id", QuotaMatch.ANY, None)],
            "Invalid entity filter component combination",
            False,
        ),
        ([Component("group", QuotaMatch.ANY, None)], "Unsupported entity type group", True),
    ],
)
def test_a_filter_is_refused(
    components: list[Component], message: str, *, is_unsupported: bool
) -> None:
    problem = ClientQuotas().describe(components, strict=False)

    assert isinstance(problem, FilterProblem)
    assert message in problem.message
    assert problem.is_unsupported is is_unsupported


def test_a_change_with_a_pause_keeps_what_another_request_sets_in_it() -> None:
    quotas = ClientQuotas()
    assert quotas.alter(USER, [(P, 1.0)]) is None
    many = [(f"unknown-{number}", None) for number in range(1000)]

    run_with_pauses(
        lambda: quotas.alter(USER, [(R, 5.0), *many]), once(lambda: quotas.alter(USER, [(C, 2.0)]))
    )

    assert described(quotas)[USER] == {P: 1.0, C: 2.0, R: 5.0}


def test_to_remove_all_quotas_pauses_before_each_entity_and_keeps_new_ones() -> None:
    quotas = ClientQuotas()
    users = [make_entity([("user", f"u{number}")]) for number in range(5)]
    for user in users:
        quotas.alter(user, [(P, 1.0)])

    def set_others() -> None:
        quotas.alter(IP, [("connection_creation_rate", 3.0)])
        quotas.alter(users[4], [(C, 2.0)])

    run_with_pauses(quotas.remove_all, at_pause(5, set_others))

    assert described(quotas) == {IP: {"connection_creation_rate": 3.0}}
