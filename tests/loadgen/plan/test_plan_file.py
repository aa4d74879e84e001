"""Plan files: defaults, and errors with line, field and reason."""

import re
from pathlib import Path

import pytest

from loadgen.plan.pauses import Pause
from loadgen.plan.plan import BEHAVIOURS, Plan, Quota, Tenant, Topic
from loadgen.plan.plan_file import load_plan, parse_plan
from loadgen.plan.rates import Ramp, RateStep
from loadgen.plan.yaml_reader import PlanError
from loadgen.plans import built_in_plans

WHOLE = """\
duration_s: 20
topics: [{name: orders, partitions: 3}]
tenants:
  - name: a
    behaviour: steady
    rate: 10
    topic: orders
"""
CONSUMING = "consume-transform-produce"


def test_missing_fields_have_defaults() -> None:
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
    ("replacement", "expected"),
    [
        ("behaviour: stedy", "p.yaml:5: tenants[0].behaviour: 'stedy' is unknown; did you mean"),
        (
            "behaviour: restart-loop\n    window: 3",
            "p.yaml:6: tenants[0].window: the behaviour restart",
        ),
        ("behaviour: steady\n    arrival: closed", "a closed loop has no rate"),
        ("behaviour: steady\n    user: u", "tenants[0].user: a tenant needs both user and"),
        ("behaviour: steady\n    password: u", "password: a tenant needs both user and"),
        (
            "behaviour: steady\n    start_s: 5\n    stop_s: 5",
            "tenants[0].stop_s: not after start_s",
        ),
        (
            "behaviour: steady\n    stop_s: 21",
            "p.yaml:6: tenants[0].stop_s: 21 is after the end at 20 s",
        ),
        (
            "behaviour: steady\n    clients: 0",
            "p.yaml:6: tenants[0].clients: expected int >= 1, not 0",
        ),
        (
            "behaviour: steady\n    record_bytes: [100, 7]",
            "p.yaml:6: tenants[0].record_bytes[1]: expected int >= 8, not 7",
        ),
        (
            "behaviour: restart-loop\n    record_bytes: [100, 200]",
            "p.yaml:6: tenants[0].record_bytes: only the behaviour steady has several sizes",
        ),
        (
            "behaviour: consumer-group\n    lag_s: 10",
            "p.yaml:6: tenants[0].lag_s: not below lag_every_s, 10",
        ),
        ("behaviour: replay", "tenants[0].behaviour: only `mock-kafka load replay TRACE` replays"),
        (
            "behaviour: steady\n    arrival: trace",
            "p.yaml:6: tenants[0].arrival: only `mock-kafka load replay TRACE` has it",
        ),
        (
            "behaviour: steady\n    acks: 0",
            "p.yaml:6: tenants[0].acks: 0 is unknown; known: 1, all",
        ),
    ],
)
def test_an_invalid_tenant_is_refused_with_line_and_field(replacement: str, expected: str) -> None:
    with pytest.raises(PlanError, match="tenants") as caught:
        parse_plan(WHOLE.replace("behaviour: steady", replacement), "p.yaml")
    assert expected in str(caught.value)


def test_a_rate_may_change_in_time() -> None:
    def rate_of(text: str) -> object:
        return parse_plan(WHOLE.replace("rate: 10", f"rate: {text}"), "p.yaml").tenants[0].rate

    assert rate_of("{from: 100, to: 2000}") == Ramp(100.0, 2000.0)
    assert rate_of("[{for_s: 2, rate: 100}, {rate: {from: 0, to: 5}}]") == (
        RateStep(100.0, 2.0),
        RateStep(Ramp(0.0, 5.0)),
    )


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ("{from: 1}", "tenants[0].rate: to is missing"),
        ("{form: 1, to: 2}", "tenants[0].rate.form: unknown field; did you mean from?"),
        ("{from: -1, to: 2}", "tenants[0].rate.from: expected float >= 0.0, not -1"),
        ("{from: 0, to: 0}", "tenants[0].rate: a rate that is always 0 sends nothing"),
        ("[{for_s: 1, rate: 0}]", "tenants[0].rate: a rate that is always 0 sends nothing"),
        ("[{for_s: 1, rte: 5}]", "tenants[0].rate[0].rte: unknown field; did you mean rate?"),
        ("[{rate: 1}, {rate: 2}]", "rate[0]: for_s is missing; only the last step may be without"),
        (
            "[{for_s: 20, rate: 1}, {rate: 2}]",
            "tenants[0].rate[1]: begins at 20 s, and the tenant stops at 20 s",
        ),
        ("0", "tenants[0].rate: expected float > 0.0, not 0"),
    ],
)
def test_an_invalid_rate_is_refused_with_line_and_field(rate: str, expected: str) -> None:
    with pytest.raises(PlanError, match=r"p\.yaml:6: tenants") as caught:
        parse_plan(WHOLE.replace("rate: 10", f"rate: {rate}"), "p.yaml")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("duration_s: 1\n", "p.yaml:1: the plan: tenants is missing"),
        (
            "duration_s: 1\ntenants: []\n",
            "p.yaml:2: tenants: expected array of length >= 1, not []",
        ),
        ("topics: []\n", "p.yaml:1: the plan: duration_s is missing"),
        (WHOLE.replace("topic: orders", "topic: order"), "p.yaml:7: tenants[0].topic: 'order' is"),
        (
            WHOLE + "  - {name: a, behaviour: topic-creator, rate: 1}\n",
            "another tenant has the name 'a'",
        ),
        (WHOLE.replace("    rate: 10\n", ""), "p.yaml:4: tenants[0]: rate is missing"),
        (WHOLE + "text: x\n", "p.yaml:8: text: unknown field; "),
        (
            WHOLE + "target: {config: {a: [1]}}\n",
            "p.yaml:8: target.config.a: expected str, not [1]",
        ),
        (
            WHOLE + "quotas: [{user: a, producer_ids_rate: 0}]\n",
            "producer_ids_rate: expected float > 0",
        ),
        (WHOLE + "quotas: [{producer_ids_rate: 1}]\n", "a quota needs user, client_id or both"),
        (WHOLE + "quotas: [{user: a}]\n", "a quota needs one of producer_byte_rate"),
        (WHOLE + "quotas: [{user: a, producer_id_rate: 1}]\n", "did you mean producer_ids_rate?"),
        (WHOLE + "record: [result]\n", "'result' is unknown; did you mean results?"),
        (
            WHOLE.replace("steady", "delivery-timeout") + "    delivery_timeout_ms: 9999\n",
            "delivery_timeout_ms=9999 is shorter than one request with request_timeout_ms=10000",
        ),
        (
            WHOLE.replace("steady", "delivery-timeout") + "    obeys_throttle: false\n",
            "always obeys throttles",
        ),
        (WHOLE.replace("steady", CONSUMING), "tenants[0].source: '' is not among topics: ["),
        (
            WHOLE.replace("steady", CONSUMING) + "    source: orders\n",
            "p.yaml:8: tenants[0].source: the client would consume what it produces",
        ),
        (
            WHOLE.replace("steady", CONSUMING).replace("topics: [", "topics: [{name: s}, ")
            + "    source: s\n    clients: 2\n",
            "p.yaml:9: tenants[0].clients: 's' has 1 partitions, and each client needs one",
        ),
    ],
)
def test_an_invalid_plan_is_refused_with_line_and_field(text: str, expected: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan(text, "p.yaml")
    assert expected in str(caught.value)


def test_the_built_in_plans_are_valid_and_cover_every_behaviour() -> None:
    names = built_in_plans()
    assert set(names) == {
        "steady",
        "producer-churn",
        "topic-storm",
        "lost-responses",
        "mixed-tenants",
        "exactly-once",
        "clients",
        "backlog",
        "faults",
    }
    plans = [load_plan(name) for name in names]
    assert [plan.name for plan in plans] == list(names)
    assert {tenant.behaviour for plan in plans for tenant in plan.tenants} == (
        set(BEHAVIOURS) - {"replay"}
    )


SECURED = (
    WHOLE
    + """\
    user: alice
    password: ${env:ALICE_PASSWORD}
target:
  security: {ssl.key.password: "${env:KEY_PASSWORD}"}
  config: {sasl.users: "bob:${env:ALICE_PASSWORD}"}
"""
)


def test_passwords_may_come_from_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE_PASSWORD", "secret")
    monkeypatch.setenv("KEY_PASSWORD", "opensesame")
    plan = parse_plan(SECURED, "p.yaml")
    assert plan.tenants[0].password == "secret"
    assert plan.target.security == {"ssl.key.password": "opensesame"}
    assert plan.target.config == {"sasl.users": "bob:secret"}
    assert plan.text == SECURED


def test_an_environment_variable_that_is_not_set_is_refused_with_line_and_field(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KEY_PASSWORD", "opensesame")
    monkeypatch.delenv("ALICE_PASSWORD", raising=False)
    with pytest.raises(PlanError, match=r"p\.yaml:12: target\.config\.sasl\.users: \$\{env:ALICE"):
        parse_plan(SECURED, "p.yaml")


def test_a_path_is_loaded_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(WHOLE)
    assert load_plan(str(path)).name == "mine"


def test_an_unknown_plan_is_refused_with_the_names_of_the_built_in_plans() -> None:
    with pytest.raises(
        PlanError,
        match=r"'stead' is neither a file nor a built-in plan; built in: backlog, clients, exactly",
    ):
        load_plan("stead")
    with pytest.raises(PlanError, match=r"cannot read none.yaml"):
        load_plan("none.yaml")


def test_a_folder_does_not_hide_the_built_in_plan_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steady").mkdir()
    assert load_plan("steady").name == "steady"


def test_the_plan_of_the_documentation_is_valid() -> None:
    page = Path(__file__).parent.parent.parent.parent / "docs" / "load.md"
    [text] = [
        block
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        if "tenants:" in block
    ]
    plan = parse_plan(text, "plan.yaml")
    assert [tenant.user for tenant in plan.tenants] == ["shop", "greedy"]
    assert plan.own_broker_config()["sasl.users"] == "shop:secret,greedy:secret"


def test_a_tenant_without_a_user_beside_others_needs_a_cluster_of_its_own_listeners() -> None:
    mixed = (
        WHOLE + "  - {name: b, behaviour: steady, rate: 1, topic: orders, user: u, password: p}\n"
    )
    with pytest.raises(PlanError, match=r"tenants\[0\]: the tenant needs user and password"):
        parse_plan(mixed, "p.yaml")
    target = "target: {bootstrap_servers: 'kafka:9092'}\n"
    assert len(parse_plan(target + mixed, "p.yaml").tenants) == 2


def test_a_topic_has_a_replication_factor() -> None:
    text = WHOLE.replace("partitions: 3", "partitions: 3, replication_factor: 2")
    [topic] = parse_plan(text, "p.yaml").topics
    assert topic == Topic("orders", 3, 2)


def test_a_tenant_has_one_size_of_records_or_several() -> None:
    sizes = [
        parse_plan(WHOLE + f"    record_bytes: {size}\n", "p.yaml").tenants[0].record_sizes
        for size in ("50", "[50, 60]")
    ]
    assert sizes == [(50,), (50, 60)]


READER = (
    WHOLE + "  - {name: r, behaviour: consumer-group, rate: 1, topic: orders, pauses: PAUSES}\n"
)


def test_consumers_have_pauses_with_limits() -> None:
    pauses = "[{at_s: 1, for_s: 2}, {at_s: 3, for_s: 1.5, recovers_within_s: 4}]"
    tenant = parse_plan(READER.replace("PAUSES", pauses), "p.yaml").tenants[-1]
    assert tenant.pauses == (Pause(1, 2), Pause(3, 1.5, recovers_within_s=4))


@pytest.mark.parametrize(
    ("pauses", "expected"),
    [
        ("[{at_s: 1, for_s: 2}, {at_s: 2, for_s: 1}]", "[1].at_s: the pause before it ends at 3 s"),
        ("[{at_s: 1, for_s: 99}]", "[0].for_s: the pause ends at 100 s, not before the tenant's"),
        ("[{at_s: 1, fo_s: 2}]", "[0].fo_s: unknown field; did you mean for_s?"),
        ("[{at_s: -1, for_s: 2}]", "[0].at_s: expected float >= 0"),
    ],
)
def test_a_wrong_pause_is_refused_where_it_is(pauses: str, expected: str) -> None:
    with pytest.raises(PlanError) as refused:
        parse_plan(READER.replace("PAUSES", pauses), "p.yaml")
    assert f"tenants[1].pauses{expected}" in str(refused.value)


def test_a_producer_has_no_pauses() -> None:
    with pytest.raises(PlanError, match=r"pauses: the behaviour steady does not use it"):
        parse_plan(WHOLE + "    pauses: [{at_s: 1, for_s: 1}]\n", "p.yaml")
