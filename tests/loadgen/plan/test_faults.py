"""The faults of a plan: their fields, errors with the line, and shorter or merged plans."""

import pytest

from loadgen.plan.faults import CutBroker, Fault, MoveLeader
from loadgen.plan.merged_plan import merged
from loadgen.plan.plan import Plan
from loadgen.plan.plan_file import load_plan, parse_plan
from loadgen.plan.yaml_reader import PlanError

HEAD = """\
duration_s: 30
topics: [{name: t}]
tenants: [{name: a, behaviour: steady, topic: t, rate: 10}]
faults:
"""


def plan_with(*faults: str) -> Plan:
    return parse_plan(HEAD + "".join(f"  - {fault}\n" for fault in faults), "p.yaml")


def test_faults_are_in_the_order_of_time_and_have_names() -> None:
    plan = plan_with(
        "{at: 0.2m, stop_broker: {broker: 1, elect: false}, for: 500ms, name: down}",
        "{at: 3, move_leader: {topic: t, partition: 0, to: 2}}",
        "{at: 5s, rule: {api: Produce, delay_ms: 5}, expect: {recovered_within: 2s}}",
    )
    assert plan.faults == (
        Fault("move leader at 3 s", 3.0, move_leader=MoveLeader("t", 0, 2)),
        Fault("rule at 5 s", 5.0, rule={"api": "Produce", "delay_ms": 5}, recovered_within_s=2.0),
        Fault("down", 12.0, 0.5, stop_broker=CutBroker(1, elect=False)),
    )
    assert [fault.action for fault in plan.faults] == ["move_leader", "rule", "stop_broker"]
    assert plan.needs_admin_port


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("{at: soon, rule: {}}", "faults[0].at: a duration is a number of seconds, or as 30s"),
        ("{at: -1, rule: {}}", "faults[0].at: a duration is"),
        ("{at: 30, rule: {}}", "faults[0].at: 30 s is not before the end at 30 s"),
        ("{at: 1, for: 1h, rule: {}}", "faults[0].for: a duration is"),
        ("{at: 20, for: 11s, rule: {}}", "faults[0].for: it ends at 31 s, after the end at 30 s"),
        ("{at: 1}", "faults[0]: a fault needs one of rule, move_leader, stop_broker"),
        ("{at: 1, rule: {}, stop_broker: {broker: 1}}", "faults[0]: a fault needs one of rule"),
        ("{at: 1, stop_broker: {node: 1}}", "faults[0].stop_broker"),
        ("{at: 1, rules: {}}", "faults[0].rules: unknown field; did you mean rule"),
        ("{rule: {}}", "faults[0]: at is missing"),
        ("{at: 1, rule: {}, expect: {recovered_within: x}}", "faults[0].expect.recovered_within"),
    ],
)
def test_an_error_names_the_line_and_the_field(fault: str, error: str) -> None:
    with pytest.raises(PlanError) as raised:
        plan_with(fault)
    assert str(raised.value).startswith(f"p.yaml:5: {error}")


def test_two_faults_with_a_name_are_refused() -> None:
    with pytest.raises(PlanError, match=r"p.yaml:6: faults\[1\].name: another fault has the name"):
        plan_with("{at: 1, rule: {}, name: a}", "{at: 2, rule: {}, name: a}")


def test_a_shorter_plan_cuts_off_what_would_be_later() -> None:
    plan = plan_with("{at: 1, for: 9, rule: {}}", "{at: 20, rule: {}}").scaled(duration_s=5.0)
    assert [(fault.at_s, fault.for_s) for fault in plan.faults] == [(1.0, 4.0)]


def test_plans_together_have_the_faults_of_all() -> None:
    plan = plan_with("{at: 9, rule: {}, name: a}")
    other = parse_plan(
        HEAD.replace("name: a,", "name: b,") + "  - {at: 1, rule: {}, name: a}\n", "other.yaml"
    )
    assert [(fault.name, fault.at_s) for fault in merged([plan, other]).faults] == [
        ("other: a", 1.0),
        ("a", 9.0),
    ]


def test_the_built_in_plan_has_each_kind() -> None:
    actions = {fault.action for fault in load_plan("faults").faults}
    assert actions == {"move_leader", "stop_broker", "rule"}
