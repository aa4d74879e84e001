"""Random load plans are valid and repeatable, and together have every behaviour and option."""

from collections import Counter

import pytest

from loadgen.plan.plan import BEHAVIOURS, REPLAYED
from loadgen.plan.plan_file import parse_plan
from tests.differential.load_plans import GENERATED, TENANTS_MAX, random_plan

SEEDS = range(200)


@pytest.mark.slow
def test_a_seed_gives_one_plan_whose_text_is_a_plan_file() -> None:
    for seed in SEEDS:
        plan = random_plan(seed)
        assert random_plan(seed) == plan
        assert parse_plan(plan.text, f"{plan.name}.yaml") == plan


def test_plans_of_different_seeds_share_no_name() -> None:
    names = Counter(
        name
        for seed in SEEDS
        for plan in (random_plan(seed),)
        for name in {
            *(topic.name for topic in plan.topics),
            *(tenant.client_id for tenant in plan.tenants),
            *(tenant.group for tenant in plan.tenants),
        }
    )
    assert set(names.values()) == {1}


def test_plans_are_short_and_have_every_behaviour_and_option() -> None:
    plans = [random_plan(seed) for seed in SEEDS]
    tenants = [tenant for plan in plans for tenant in plan.tenants]
    assert set(BEHAVIOURS) - {REPLAYED} == set(GENERATED)
    assert {tenant.behaviour for tenant in tenants} == set(GENERATED)
    assert all(plan.duration_s <= 4 for plan in plans)
    assert all(len(plan.tenants) <= TENANTS_MAX + 1 for plan in plans)
    for option in ("arrival", "acks", "compression", "group_protocol", "idempotent", "records"):
        assert len({getattr(tenant, option) for tenant in tenants}) > 1, option
    assert {quota.key for plan in plans for quota in plan.quotas} == {
        "producer_byte_rate",
        "consumer_byte_rate",
        "controller_mutation_rate",
    }
