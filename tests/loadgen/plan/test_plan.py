"""Plans from YAML, and what is derived of them."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from loadgen.plan.plan import (
    BEHAVIOURS,
    Plan,
    Quota,
    Tenant,
    Topic,
    built_in_plans,
    load_plan,
    parse_plan,
)
from loadgen.plan.yaml_reader import PlanError
from loadgen.rows import ARROW_SCHEMA

DOCUMENT = Path(__file__).parents[2] / "docs" / "load.md"

WHOLE = """\
duration_s: 20
topics: [{name: orders, partitions: 3}]
tenants:
  - name: a
    behaviour: steady
    rate: 10
    topic: orders
"""


def test_a_short_plan_is_filled_up_with_defaults() -> None:
    plan = parse_plan(WHOLE, "some/where/short.yaml")
    assert plan == Plan(
        name="short",
        duration_s=20,
        topics=(Topic("orders", 3),),
        tenants=(Tenant("a", "steady", "a", rate=10, topic="orders", group="a"),),
        text=WHOLE,
    )
    assert plan.tenants[0].principal == "ANONYMOUS"
    assert plan.span_s(plan.tenants[0]) == (0.0, 20.0)


def test_quotas_are_one_per_key() -> None:
    text = (
        WHOLE + "quotas:\n- {user: a, client_id: '', producer_ids_rate: 5, producer_byte_rate: 1}\n"
    )
    entity = {"user": "a", "client-id": ""}
    assert parse_plan(text, "x.yaml").quotas == (
        Quota(entity, "producer_byte_rate", 1.0),
        Quota(entity, "producer_ids_rate", 5.0),
    )


@pytest.mark.parametrize(
    ("wrong", "wanted"),
    [
        ("behaviour: stedy", "p.yaml:5: tenants[0].behaviour: 'stedy' is unknown; did you mean"),
        ("behaviour: restart-loop\n    window: 3", "p.yaml:6: tenants[0].window: means nothing to"),
        ("behaviour: steady\n    arrival: closed", "a closed loop has no rate"),
        ("behaviour: steady\n    user: u", "tenants[0].user: a tenant has user and password"),
        ("behaviour: steady\n    password: u", "password: a tenant has user and password"),
        (
            "behaviour: steady\n    start_s: 5\n    stop_s: 5",
            "tenants[0].stop_s: not behind start_s",
        ),
        ("behaviour: steady\n    stop_s: 21", "stop_s: 21 is not above"),
        ("behaviour: steady\n    clients: 0", "p.yaml:6: tenants[0].clients: 0 is not within"),
        ("behaviour: steady\n    acks: 0", "acks: '0' is unknown; known: all, 1"),
    ],
)
def test_a_tenants_mistakes_are_told(wrong: str, wanted: str) -> None:
    with pytest.raises(PlanError, match="tenants") as caught:
        parse_plan(WHOLE.replace("behaviour: steady", wrong), "p.yaml")
    assert wanted in str(caught.value)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("duration_s: 1\n", "p.yaml:1: : no tenants"),
        ("duration_s: 1\ntenants: []\n", "p.yaml:2: tenants: no tenants"),
        ("tenants: []\n", "duration_s is missing"),
        (WHOLE.replace("topic: orders", "topic: order"), "p.yaml:7: tenants[0].topic: 'order' is"),
        (
            WHOLE + "  - {name: a, behaviour: topic-creator, rate: 1}\n",
            "is another tenant's as well",
        ),
        (WHOLE + "quotas: [{producer_ids_rate: 1}]\n", "a quota needs user, client_id or both"),
        (WHOLE + "quotas: [{user: a}]\n", "a quota needs one of producer_byte_rate"),
        (WHOLE + "quotas: [{user: a, producer_id_rate: 1}]\n", "did you mean producer_ids_rate?"),
        (WHOLE + "record: [result]\n", "'result' is unknown; did you mean results?"),
        (
            WHOLE.replace("steady", "delivery-timeout") + "    delivery_timeout_ms: 9999\n",
            "delivery_timeout_ms=9999 has no room for one request of request_timeout_ms=10000",
        ),
        (
            WHOLE.replace("steady", "delivery-timeout") + "    obeys_throttle: false\n",
            "a whole producer that obeys",
        ),
    ],
)
def test_a_plans_mistakes_are_told(text: str, wanted: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan(text, "p.yaml")
    assert wanted in str(caught.value)


def test_scaling_changes_rates_and_ends() -> None:
    plan = parse_plan(WHOLE + "    stop_s: 15\n", "x.yaml").scaled(0.5, 8)
    assert (plan.duration_s, plan.tenants[0].rate, plan.tenants[0].stop_s) == (8, 5.0, 8)


def test_a_tenant_that_would_start_behind_the_new_end_is_refused() -> None:
    plan = parse_plan(WHOLE + "    start_s: 10\n", "x.yaml")
    with pytest.raises(PlanError, match=r"tenant a starts at 10 s, behind the end at 8 s"):
        plan.scaled(1.0, 8)


def test_a_broker_of_our_own_gets_the_users() -> None:
    text = WHOLE + "    user: 'a,b'\n    password: 'c:d%'\ntarget: {config: {num.partitions: 2}}\n"
    assert parse_plan(text, "x.yaml").own_broker_config() == {
        "listeners": "SASL_PLAINTEXT://:0",
        "sasl.users": "a%2Cb:c%3Ad%25",
        "num.partitions": "2",
    }
    assert parse_plan(WHOLE, "x.yaml").own_broker_config() == {}


def test_every_built_in_plan_can_be_read_and_together_they_have_every_behaviour() -> None:
    names = built_in_plans()
    assert set(names) == {
        "steady",
        "producer-churn",
        "topic-storm",
        "lost-responses",
        "mixed-tenants",
    }
    plans = [load_plan(name) for name in names]
    assert [plan.name for plan in plans] == list(names)
    assert {tenant.behaviour for plan in plans for tenant in plan.tenants} == set(BEHAVIOURS)


def test_a_file_wins_over_a_built_in_plan(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(WHOLE)
    assert load_plan(str(path)).name == "mine"


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


def test_the_most_specific_quota_counts_and_a_default_is_a_bucket_for_each() -> None:
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
    plan = Plan("p", 1, tenants, quotas=quotas)
    found = {
        name: (quota.value, [tenant.name for tenant in its])
        for name, (quota, its) in plan.buckets("k").items()
    }
    assert found == {
        "user u": (3, ["a"]),
        "user u, client-id y": (2, ["b"]),
        "user v": (1, ["c"]),
        "user w": (1, ["d", "e"]),
    }
    assert plan.buckets("other") == {}


def test_what_is_neither_file_nor_built_in_is_told_with_the_names() -> None:
    with pytest.raises(PlanError, match=r"'stead' is no file and no built-in plan; built in: lost"):
        load_plan("stead")
    with pytest.raises(PlanError, match=r"cannot read none.yaml"):
        load_plan("none.yaml")


def test_the_document_tells_every_field_behaviour_column_and_plan() -> None:
    told = DOCUMENT.read_text(encoding="utf-8")
    tenant_fields = {each.name for each in fields(Tenant)}
    plan_fields = {each.name for each in fields(Plan)} - {"text", "tenants"}
    names = {*BEHAVIOURS, *built_in_plans(), *tenant_fields, *plan_fields, *ARROW_SCHEMA.names}
    assert [name for name in sorted(names) if f"`{name}`" not in told] == []


def test_the_documents_plan_is_one() -> None:
    text, *_ = re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert [tenant.name for tenant in parse_plan(text, "load.md").tenants] == ["shop", "greedy"]
