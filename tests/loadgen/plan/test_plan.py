"""Plans and what is derived from them."""

import re
from pathlib import Path

import pytest

from loadgen.plan.plan import BEHAVIOURS, Plan, Quota, Tenant
from loadgen.plan.plan_file import parse_plan
from loadgen.plan.rates import Ramp, RateStep
from loadgen.plan.yaml_reader import PlanError
from loadgen.plans import built_in_plans
from loadgen.rows import ARROW_SCHEMA

DOCUMENT = Path(__file__).parents[3] / "docs" / "load.md"

WHOLE = """\
duration_s: 20
topics: [{name: orders, partitions: 3}]
tenants:
  - name: a
    behaviour: steady
    rate: 10
    topic: orders
"""


def test_scaling_changes_rates_and_end_times() -> None:
    plan = parse_plan(WHOLE + "    stop_s: 15\n", "x.yaml").scaled(0.5, 8)
    assert (plan.duration_s, plan.tenants[0].rate, plan.tenants[0].stop_s) == (8, 5.0, 8)


def test_a_tenant_that_starts_after_the_new_end_is_refused() -> None:
    plan = parse_plan(WHOLE + "    start_s: 10\n", "x.yaml")
    with pytest.raises(PlanError, match=r"tenant a starts at 10 s, after the end at 8 s"):
        plan.scaled(1.0, 8)


def test_a_tenant_whose_rate_is_0_until_the_new_end_is_refused() -> None:
    text = WHOLE.replace("rate: 10", "rate: [{for_s: 8, rate: 0}, {rate: {from: 1, to: 9}}]")
    plan = parse_plan(text, "x.yaml")
    assert plan.scaled(2.0).tenants[0].rate == (RateStep(0.0, 8.0), RateStep(Ramp(2.0, 18.0)))
    with pytest.raises(PlanError, match="the rate of tenant a is 0 until the end at 8 s"):
        plan.scaled(1.0, 8)


def test_a_cluster_started_for_a_plan_has_its_users() -> None:
    text = WHOLE + "    user: 'a,b'\n    password: 'c:d%'\ntarget: {config: {num.partitions: 2}}\n"
    assert parse_plan(text, "x.yaml").own_broker_config() == {
        "listeners": "SASL_PLAINTEXT://:0",
        "sasl.users": "a%2Cb:c%3Ad%25",
        "num.partitions": "2",
    }
    assert parse_plan(WHOLE, "x.yaml").own_broker_config() == {}


def test_a_quota_may_be_in_shadow_mode() -> None:
    text = (
        "duration_s: 1\nquotas: [{user: a, producer_byte_rate: 5, shadow: true}, {user: b,"
        " producer_byte_rate: 5}]\ntenants: [{name: a, behaviour: topic-creator, rate: 1}]\n"
    )
    plan = parse_plan(text, "x.yaml")
    assert [quota.shadow for quota in plan.quotas] == [True, False]
    assert plan.has_shadow_quotas
    assert [quota.shadow for quota in plan.all_in_shadow().quotas] == [True, True]
    enforced = parse_plan(text.replace(", shadow: true", ""), "x.yaml")
    assert not enforced.has_shadow_quotas
    wide = text.replace(", shadow: true", "") + "target: {config: {client.quota.shadow: true}}\n"
    assert parse_plan(wide, "x.yaml").has_shadow_quotas


def test_the_most_specific_quota_applies_and_a_default_is_one_bucket_for_each_user() -> None:
    def mutations(value: float, **entity: str) -> Quota:
        names = {"user": "user", "client": "client-id"}
        return Quota({names[kind]: name for kind, name in entity.items()}, "k", value)

    tenants = (
        Tenant("a", "topic-creator", "x", user="u"),
        Tenant("b", "topic-creator", "y", user="u"),
        Tenant("c", "topic-creator", "x", user="v"),
        Tenant("d", "topic-creator", "x", user="w"),
        Tenant("e", "topic-creator", "x", user="w"),
    )
    quotas = (
        mutations(1, user=""),
        mutations(2, user="u", client="y"),
        mutations(3, user="u"),
        mutations(4, client="x"),
    )
    plan = Plan(name="p", duration_s=1, tenants=tenants, quotas=quotas)
    found = {
        name: (quota.value, [tenant.name for tenant in users])
        for name, (quota, users) in plan.buckets("k").items()
    }
    assert found == {
        "user u": (3, ["a"]),
        "user u, client-id y": (2, ["b"]),
        "user v": (1, ["c"]),
        "user w": (1, ["d", "e"]),
    }
    assert plan.buckets("other") == {}


def test_the_document_names_every_field_behaviour_column_and_plan() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    tenant_fields = set(Tenant.__struct_fields__)
    plan_fields = set(Plan.__struct_fields__) - {"text", "tenants", "events_file"}
    names = {*BEHAVIOURS, *built_in_plans(), *tenant_fields, *plan_fields, *ARROW_SCHEMA.names}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_the_plan_in_the_document_is_valid() -> None:
    text, *_ = re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert [tenant.name for tenant in parse_plan(text, "load.md").tenants] == ["shop", "greedy"]
