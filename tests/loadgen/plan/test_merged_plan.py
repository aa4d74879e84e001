"""Several plans become one, or say how they contradict each other."""

import pytest

from loadgen.plan.merged_plan import merged
from loadgen.plan.plan import Plan
from loadgen.plan.plan_file import load_plan, parse_plan
from loadgen.plan.yaml_reader import PlanError

TENANT = "{name: a, behaviour: steady, topic: t, rate: 5}"


def plan_of(name: str, fields: str = "", tenant: str = TENANT, duration_s: int = 10) -> Plan:
    text = f"duration_s: {duration_s}\ntopics: [{{name: t, partitions: 2}}]\n{fields}"
    return parse_plan(f"{text}tenants: [{tenant}]\n", f"{name}.yaml")


def test_one_plan_is_itself() -> None:
    plan = plan_of("p")
    assert merged([plan]) is plan


def test_tenants_keep_their_times_and_get_names_of_their_own() -> None:
    plan = merged([plan_of("long", "warm_up_s: 3\nseed: 7\n", duration_s=20), plan_of("short")])
    assert (plan.name, plan.duration_s, plan.warm_up_s, plan.seed) == ("long-with-short", 20, 3, 7)
    assert [tenant.name for tenant in plan.tenants] == ["a", "short-a"]
    assert [plan.span_s(tenant) for tenant in plan.tenants] == [(-3, 20), (0, 10)]
    assert plan.tenants[1].client_id == "a"
    assert [(topic.name, topic.partitions) for topic in plan.topics] == [("t", 2)]
    assert "# long\n" in plan.text
    assert "# short\n" in plan.text


def test_targets_quotas_and_limits_are_put_together() -> None:
    quota = "quotas: [{user: u, producer_byte_rate: 5}]\n"
    first = plan_of("p", f"{quota}target: {{brokers: 3, config: {{a: 1}}}}\nlateness_p99_ms: 2\n")
    second = plan_of("q", f"{quota}target: {{bootstrap_servers: 'x:1', config: {{b: 2}}}}\n")
    plan = merged([first, second])
    assert len(plan.quotas) == 1
    assert (plan.target.bootstrap_servers, plan.target.brokers) == ("x:1", 3)
    assert plan.target.config == {"a": "1", "b": "2"}
    assert plan.lateness_p99_ms == 2


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (plan_of("p"), "the same plan is given twice"),
        (
            parse_plan(
                f"duration_s: 1\ntopics: [{{name: t, partitions: 3}}]\ntenants: [{TENANT}]\n", "q"
            ),
            "the plans differ in topic 't': Topic",
        ),
        (plan_of("q", "quotas: [{user: u, producer_byte_rate: 6}]\n"), "the plans differ in quota"),
        (plan_of("q", "target: {bootstrap_servers: 'y:1'}\n"), "different targets: x:1, y:1"),
        (plan_of("q", "target: {config: {a: 2}}\n"), "the plans differ in config 'a': '1' and '2'"),
        (
            plan_of("q", tenant=TENANT.replace("rate", "user: u, password: x, rate")),
            "tenant a has no user, and tenants of another plan have one",
        ),
    ],
)
def test_contradictions_are_named(other: Plan, expected: str) -> None:
    quota = "quotas: [{user: u, producer_byte_rate: 5}]\n"
    plan = plan_of("p", f"{quota}target: {{bootstrap_servers: 'x:1', config: {{a: 1}}}}\n")
    # Merging twice gives the same name to the tenants of the second and the third.
    plans = [plan, other, other] if other.name == "p" else [plan, other]
    with pytest.raises(PlanError, match=expected):
        merged(plans)


def test_a_user_has_one_password() -> None:
    plans = [
        plan_of(name, tenant=TENANT.replace("rate", f"user: u, password: {name}, rate"))
        for name in ("p", "q")
    ]
    with pytest.raises(PlanError, match="user u has two passwords"):
        merged(plans)


def test_built_in_plans_can_be_merged() -> None:
    assert len(merged([load_plan("steady"), load_plan("exactly-once")]).tenants) > 2
