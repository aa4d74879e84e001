"""Each dimension changes what it names and nothing else."""

import pytest

from loadgen.limit_search.dimensions import CLIENTS_MAX, DIMENSIONS
from loadgen.plan.plan import Plan, Tenant, Topic
from loadgen.plan.plan_file import load_plan
from loadgen.plan.rates import Ramp, scaled_rate
from loadgen.plan.yaml_reader import PlanError

PLAN = Plan(
    name="p",
    duration_s=2,
    topics=(Topic("t", 4), Topic("u", 4)),
    tenants=(
        Tenant("shop", "steady", clients=3, rate=30, topic="t"),
        Tenant("loop", "steady", clients=5, arrival="closed", topic="t"),
        Tenant("churn", "new-producer-per-batch", clients=2, rate=10, topic="t"),
        Tenant("failing", "new-producer-per-error", rate=20, error_every=4, topic="t"),
        Tenant("admin", "topic-creator", rate=2, topics_per_request=5, partitions=3),
    ),
)


def test_the_value_is_the_sum_over_the_tenants_that_have_the_dimension() -> None:
    values = {name: dimension.value(PLAN) for name, dimension in DIMENSIONS.items()}
    assert values == {"rate": 62, "clients": 12, "ids": 10 + 20 / 4, "mutations": 30}
    assert DIMENSIONS["rate"].value(PLAN, ["shop", "admin"]) == 32


@pytest.mark.parametrize("name", DIMENSIONS)
def test_a_varied_plan_has_the_value_and_other_tenants_are_unchanged(name: str) -> None:
    dimension = DIMENSIONS[name]
    varied = dimension.varied(PLAN, 3 * dimension.value(PLAN))
    assert dimension.value(varied) == 3 * dimension.value(PLAN)
    for before, after in zip(PLAN.tenants, varied.tenants, strict=True):
        if not dimension.of_tenant(before):
            assert after == before
        elif name == "clients":
            assert (after.clients, after.rate) == (3 * before.clients, before.rate)
        else:
            assert (after.clients, after.rate) == (before.clients, scaled_rate(before.rate, 3))


def test_a_rate_that_changes_in_time_is_not_varied() -> None:
    ramp = Tenant("ramp", "steady", clients=2, rate=Ramp(0.0, 10.0), topic="t")
    plan = Plan(name="p", duration_s=2, topics=PLAN.topics, tenants=(ramp, *PLAN.tenants))
    with pytest.raises(PlanError, match="--vary rate: the rate of tenant ramp changes in time"):
        DIMENSIONS["rate"].value(plan)
    varied = DIMENSIONS["rate"].varied(plan, 60, ["shop"])
    assert [tenant.rate for tenant in varied.tenants[:2]] == [ramp.rate, 60]
    assert DIMENSIONS["clients"].value(plan) == 14


def test_only_the_named_tenants_are_varied() -> None:
    varied = DIMENSIONS["rate"].varied(PLAN, 60, ["shop"])
    assert [tenant.rate for tenant in varied.tenants] == [60, 1, 10, 20, 2]


def test_each_tenant_keeps_a_client() -> None:
    varied = DIMENSIONS["clients"].varied(PLAN, 1)
    assert {tenant.clients for tenant in varied.tenants} == {1}


def test_a_consumer_has_at_most_one_client_per_partition() -> None:
    reader = Tenant("r", "consume-transform-produce", clients=2, source="t", topic="u")
    plan = Plan(name="p", duration_s=1, topics=PLAN.topics, tenants=(reader,))
    assert DIMENSIONS["clients"].highest(plan) == 4
    plan = Plan(name="p", duration_s=1, topics=PLAN.topics, tenants=PLAN.tenants[:1])
    assert DIMENSIONS["clients"].highest(plan) == CLIENTS_MAX


def test_the_built_in_plans_have_their_dimension() -> None:
    assert DIMENSIONS["ids"].value(load_plan("producer-churn")) == 10 + 60 / 20 + 20
    assert DIMENSIONS["mutations"].value(load_plan("topic-storm")) == 10 * 50 * 4 + 2 * 5 * 4


@pytest.mark.parametrize(
    ("name", "tenants", "expected"),
    [
        ("mutations", ["shop"], "--vary mutations: p has no tenant with a rate and a behaviour"),
        ("rate", ["loop"], "--vary rate: p has no tenant with a rate: all of them are closed"),
        ("rate", ["shoop"], "--tenant shoop: the tenants of p are shop, loop, churn"),
    ],
)
def test_a_plan_without_the_dimension_is_an_error(
    name: str, tenants: list[str], expected: str
) -> None:
    with pytest.raises(PlanError, match=expected):
        DIMENSIONS[name].value(PLAN, tenants)
