from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.plan.plan import Plan, Quota, Tenant
from protocol.client_quotas import quota_levels
from quotas.entities import Entity, make_entity
from quotas.limits import Limits, Scope

DEFAULT = None
NAMES = st.sampled_from(["a", "b", DEFAULT])
ENTITIES = st.one_of(
    st.builds(lambda user: make_entity([("user", user)]), NAMES),
    st.builds(lambda client: make_entity([("client-id", client)]), NAMES),
    st.builds(
        lambda user, client: make_entity([("user", user), ("client-id", client)]), NAMES, NAMES
    ),
)
CLIENTS = [(user, client) for user in ("a", "b", "c") for client in ("a", "b", "c", "", None)]


def entity(**names: str | None) -> Entity:
    return make_entity((name.replace("_", "-"), value) for name, value in names.items())


def make_limits(*entities: Entity) -> Limits:
    """Return limits of 1, 2 and so on for these entities."""
    limits = Limits()
    for number, limited in enumerate(entities, 1):
        limits.set(limited, Fraction(number))
    return limits


EIGHT_LEVELS = (
    (entity(user="u", client_id="c"), ("u", "c")),
    (entity(user="u", client_id=None), ("u", "c")),
    (entity(user="u"), ("u", "")),
    (entity(user=None, client_id="c"), ("u", "c")),
    (entity(user=None, client_id=None), ("u", "c")),
    (entity(user=None), ("u", "")),
    (entity(client_id="c"), ("", "c")),
    (entity(client_id=None), ("", "c")),
)


def test_the_levels_are_those_that_clients_know() -> None:
    levels = [make_entity(level.items()) for level in quota_levels("u", "c")]
    assert levels == [limited for limited, _tags in EIGHT_LEVELS]


def test_the_most_specific_level_applies_and_decides_who_shares() -> None:
    limits = make_limits(*(limited for limited, _tags in EIGHT_LEVELS))
    found = []
    for limited, _tags in EIGHT_LEVELS:
        found.append(limits.scope("u", "c"))
        limits.set(limited, None)

    assert found == [Scope(tags, Fraction(n)) for n, (_, tags) in enumerate(EIGHT_LEVELS, 1)]
    assert limits.scope("u", "c") == Scope(("", "c"), None)


def test_limits_are_enabled_from_the_first_set_on() -> None:
    limits = Limits()
    assert not limits.is_enabled
    assert limits.scope("u", "c") == Scope(("", "c"), None)
    limits.set(entity(user="u"), Fraction(1))
    limits.set(entity(user="u"), None)

    assert limits.is_enabled
    assert limits.scope("u", "c") == Scope(("u", ""), None)


@pytest.mark.parametrize(
    ("levels", "tags"),
    [
        ([entity(client_id="x")], ("", "c")),
        ([entity(user="x")], ("u", "")),
        ([entity(user="x", client_id="x")], ("u", "c")),
        ([entity(user="x"), entity(client_id="x")], ("", "c")),
    ],
)
def test_clients_without_a_limit_are_counted_by_the_levels_that_were_ever_set(
    levels: list[Entity], tags: tuple[str, str]
) -> None:
    assert make_limits(*levels).scope("u", "c") == Scope(tags, None)


def test_the_limit_that_applies_decides_about_shadow_mode() -> None:
    limits = Limits()
    limits.set(entity(user="alice"), Fraction(1), is_shadow=True)
    limits.set(entity(user=None), Fraction(1))
    limits.set(entity(user="alice", client_id="enforced"), Fraction(1))

    assert limits.is_shadow("alice", "any")
    assert not limits.is_shadow("alice", "enforced")
    assert not limits.is_shadow("bob", "any")
    assert limits.is_shadow_of(entity(user="alice"))
    assert not limits.is_shadow_of(entity(user=None))
    limits.set(entity(user="alice"), Fraction(2))
    assert not limits.is_shadow("alice", "any")


def test_a_removed_limit_is_no_longer_in_shadow_mode() -> None:
    limits = Limits()
    limits.set(entity(user="alice"), Fraction(1), is_shadow=True)
    limits.set(entity(user="alice"), None, is_shadow=True)

    assert not limits.is_shadow("alice", None)


def test_an_empty_client_id_has_no_default_limit() -> None:
    limits = make_limits(entity(client_id=None))

    assert limits.scope("u", "") == limits.scope("u", None) == Scope(("", ""), None)
    assert limits.scope("u", "c") == Scope(("", "c"), Fraction(1))


def test_an_empty_client_id_has_the_limit_of_its_user() -> None:
    limits = make_limits(entity(user="u", client_id=None), entity(user="u"))

    assert limits.scope("u", "c") == Scope(("u", "c"), Fraction(1))
    assert limits.scope("u", "") == Scope(("u", ""), Fraction(2))


def test_a_change_applies_at_once() -> None:
    limits = make_limits(entity(user="u"))
    assert limits.scope("u", "c").limit == 1
    limits.set(entity(user="u"), Fraction(7))

    assert limits.scope("u", "c").limit == 7


def test_an_address_has_its_own_limit_or_the_default() -> None:
    limits = make_limits(entity(ip="1.2.3.4"), entity(ip=None), entity(ip="0:0::1"))

    assert limits.ip_limit("1.2.3.4") == 1
    assert limits.ip_limit("4.3.2.1") == 2
    assert limits.ip_limit("::1") == 3
    limits.set(entity(ip=None), None)
    assert limits.ip_limit("4.3.2.1") is None


@given(st.dictionaries(ENTITIES, st.integers(1, 9)), st.randoms(use_true_random=False))
def test_the_order_in_which_levels_are_set_changes_no_scope(
    levels: dict[Entity, int], random: Random
) -> None:
    shuffled = list(levels.items())
    random.shuffle(shuffled)
    one, other = Limits(), Limits()
    for level, value in levels.items():
        one.set(level, Fraction(value))
    for limited, value in shuffled:
        other.set(limited, Fraction(value))

    for client in CLIENTS:
        assert one.scope(*client) == other.scope(*client)


@given(st.dictionaries(ENTITIES, st.integers(1, 9), max_size=8))
def test_two_users_share_a_counter_only_if_the_quota_is_per_client_id(
    levels: dict[Entity, int],
) -> None:
    limits = Limits()
    for limited, value in levels.items():
        limits.set(limited, Fraction(value))

    for user, client_id in CLIENTS:
        tags, limit = limits.scope(user, client_id)
        assert tags[0] in {user, ""}
        if tags[0] == "" and limit is not None:
            own, default = make_entity([("client-id", client_id)]), entity(client_id=None)
            assert limit == levels.get(own, levels.get(default))
            for level in (entity(user=user), entity(user=None)):
                assert level not in levels


@given(st.lists(ENTITIES, max_size=9, unique=True), st.sampled_from(["a", "b", "c"]))
def test_a_load_plan_finds_the_same_limit(entities: list[Entity], client_id: str) -> None:
    limits = make_limits(*entities)
    quotas = [
        Quota({kind: name or "" for kind, name in limited}, "producer_byte_rate", value)
        for value, limited in enumerate(entities, 1)
    ]
    tenant = Tenant("t", "steady", client_id, user="a")
    plan = Plan(name="p", duration_s=1.0, tenants=(tenant,), quotas=tuple(quotas))
    found = plan.quota_of(tenant, "producer_byte_rate")
    assert limits.scope("a", client_id).limit == (found and found.value)
