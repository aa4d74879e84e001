"""The plan of a trace is a plan that loads, and its distances say how well it fits."""

import pytest

from loadgen.learning.learned_plan import LearnedPlan, learn
from loadgen.plan.plan_file import parse_plan
from tests.loadgen.learning.made_traffic import Row, plan_of, rows_of, traffic_of

TENANTS = (
    "name: shop, behaviour: steady, topic: t, clients: 4, rate: 100, record_bytes: 250",
    "name: ticks, behaviour: steady, topic: t, rate: 20, arrival: constant, records: 10",
    "name: loop, behaviour: restart-loop, topic: t, clients: 2, rate: 5, start_s: 5, stop_s: 15",
    "name: lambda, behaviour: new-producer-per-batch, topic: t, rate: 10",
    "name: maker, behaviour: topic-creator, rate: 2, topics_per_request: 3",
)


def learned(rows: list[Row], events_min: int = 10) -> LearnedPlan:
    return learn(traffic_of(rows), "again", "made.parquet", events_min)


def distance(found: LearnedPlan, tenant: str, dimension: str) -> float:
    (value,) = (
        one.value for one in found.distances if (one.tenant, one.dimension) == (tenant, dimension)
    )
    return value


def test_a_plan_is_learned_again_from_what_its_schedule_sends() -> None:
    known = plan_of(*TENANTS)
    found = learned(rows_of(known))
    plan = parse_plan(found.text, "again.yaml")
    assert {tenant.name for tenant in plan.tenants} == {tenant.name for tenant in known.tenants}
    assert plan.duration_s == pytest.approx(20, rel=0.01)
    assert [(topic.name, topic.partitions) for topic in plan.topics] == [("t", 4)]
    for tenant in known.tenants:
        (same,) = (one for one in plan.tenants if one.name == tenant.name)
        assert same.rate == pytest.approx(tenant.rate, rel=0.03)
        for field in ("behaviour", "arrival", "records", "record_bytes", "batches"):
            assert getattr(same, field) == getattr(tenant, field), (tenant.name, field)
        if tenant.behaviour == "restart-loop":
            assert same.start_s == pytest.approx(5, abs=0.5)
            assert same.stop_s == pytest.approx(15, abs=0.5)
    assert max(one.value for one in found.distances) < 0.2
    assert distance(found, "shop", "sizes") == 0
    assert distance(found, "shop", "gaps") < 0.05
    assert distance(found, "lambda", "producer_ids") < 0.1


def test_traffic_that_no_plan_has_is_far_from_its_plan() -> None:
    rows = rows_of(plan_of("name: a, behaviour: steady, topic: t, rate: 100"))
    # All events of the first four seconds, and every tenth one of the others.
    first_us = min(row["time_us"] for row in rows)
    fading = [
        row
        for number, row in enumerate(rows)
        if row["time_us"] < first_us + 4_000_000 or number % 10 == 0
    ]
    found = learned(fading)
    assert distance(found, "a", "times") > 0.4


def test_tenants_of_one_client_have_names_of_their_own() -> None:
    rows: list[Row] = []
    for number in range(12):
        produce = {"time_us": number, "api": "Produce", "client_id": "c"}
        rows += [{**produce, "topic": "a"}, {**produce, "topic": "b"}]
        rows += [{**produce, "topic": "a", "user": "u"}]
        rows += [{"time_us": number, "api": "DeleteTopics", "client_id": "c", "topics": 1}]
    found = learned(rows)
    for name in ("name: c,", "name: c-a", "name: c-b", "name: c-topic-deleter"):
        assert name in found.text


def test_users_need_a_password_and_what_is_left_out_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows: list[Row] = [
        {"time_us": n, "api": "Produce", "user": "alice", "topic": "t"} for n in range(10)
    ]
    rows += [{"time_us": 5, "api": "Produce", "topic": "t"}, {"time_us": 1, "api": "Metadata"}]
    found = learned(rows)
    assert found.needs_password
    assert found.left_out == {"Metadata": 1, "Produce": 1}
    monkeypatch.setenv("LOAD_PASSWORD", "secret")
    (tenant,) = parse_plan(found.text, "again.yaml").tenants
    assert (tenant.name, tenant.user, tenant.password) == ("alice", "alice", "secret")


def test_a_trace_without_enough_events_is_refused() -> None:
    rows: list[Row] = [{"time_us": n, "api": "Produce", "topic": "t"} for n in range(9)]
    with pytest.raises(ValueError, match="no client has sent 10 requests of a kind"):
        learned(rows)
    assert learned(rows, events_min=9).tenants == 1
