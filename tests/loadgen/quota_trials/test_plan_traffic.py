"""The traffic of a plan is what its clients send to a broker."""

from collections import Counter

import pytest
from msgspec.structs import replace

from loadgen.plan.plan import BEHAVIOURS, REPLAYED, Target
from loadgen.plan.plan_file import load_plan
from loadgen.plan.yaml_reader import PlanError
from loadgen.plans import built_in_plans
from loadgen.quota_trials import plan_traffic
from loadgen.quota_trials.plan_traffic import traffic_of_plan
from loadgen.quota_trials.traffic import FETCH, PRODUCE, TOPICS, Traffic
from tests.loadgen.runs import plan_of, run

pytestmark = pytest.mark.slow


def of_api(found: Traffic, api: int) -> int:
    return int((found.api == api).sum())


@pytest.mark.parametrize(
    ("fields", "has_exact_ids"),
    [
        ("behaviour: steady, records: 3, record_bytes: 50, clients: 4", True),
        ("behaviour: steady, record_bytes: [20, 90, 700], clients: 2", True),
        ("behaviour: keyed, keys: 90, key_skew: 1, headers: 2, records: 3, clients: 2", True),
        ("behaviour: restart-loop, batches: 2, clients: 2", True),
        ("behaviour: new-producer-per-batch, clients: 2", True),
        ("behaviour: new-producer-per-error, error_every: 5, clients: 2", False),
    ],
)
def test_requests_bytes_and_producer_ids_are_those_of_a_run(
    servers: str, fields: str, has_exact_ids: bool
) -> None:
    plan = plan_of(f"[{{name: a, {fields}, rate: 60, topic: t}}]")
    sent = [row for row in run(plan, servers) if row["api"] == "Produce"]
    found = traffic_of_plan(plan)
    ids = len(set(found.producer_id.tolist()))
    sent_ids = len({row["producer_id"] for row in sent})
    if has_exact_ids:
        assert of_api(found, PRODUCE) == len(sent)
        assert ids == sent_ids
    else:  # the first batch of a producer has no gap, whatever the plan says
        assert abs(of_api(found, PRODUCE) - len(sent)) <= 5
        assert abs(ids - sent_ids) <= 5
    assert {row["bytes"] for row in sent} == {size + 4 for size in found.size_bytes.tolist()}
    if has_exact_ids:
        assert sum(row["bytes"] - 4 for row in sent) == int(found.size_bytes.sum())


def test_topic_changes_are_those_of_a_run(servers: str) -> None:
    plan = plan_of("[{name: a, behaviour: topic-creator, rate: 8, topics_per_request: 3}]")
    rows = [row for row in run(plan, servers) if row["mutations"]]
    found = traffic_of_plan(plan)
    assert of_api(found, TOPICS) == len(rows)
    assert int(found.mutations.sum()) == sum(row["mutations"] for row in rows)
    assert set(found.topics.tolist()) == {3}


def test_every_built_in_plan_has_traffic_in_the_order_of_time() -> None:
    plans = [load_plan(name) for name in built_in_plans()]
    scheduled = [plan for plan in plans if all(t.arrival != "closed" for t in plan.tenants)]
    assert len(scheduled) == len(plans) - 1
    for plan in scheduled:
        found = traffic_of_plan(plan.scaled(duration_s=3))
        assert found.time_ms[0] == 0
        assert (found.time_ms[1:] >= found.time_ms[:-1]).all()
        assert found.size_bytes[found.api == PRODUCE].min() > 100


def test_every_behaviour_of_a_plan_file_is_modelled() -> None:
    known = set(plan_traffic._BEHAVIOURS) | plan_traffic._READERS
    assert known == set(BEHAVIOURS) - {REPLAYED}


@pytest.mark.parametrize("lag", ["lag_s: 4, lag_every_s: 10", "pauses: [{at_s: 6, for_s: 4}]"])
def test_a_member_that_lags_fetches_all_of_it_later(lag: str) -> None:
    plan = plan_of(
        "[{name: w, behaviour: steady, rate: 100, topic: t, clients: 4, arrival: constant},"
        f" {{name: r, behaviour: consumer-group, rate: 20, topic: t, {lag},"
        " arrival: constant}]",
        duration_s=20,
    )
    found = traffic_of_plan(plan)
    fetches = found.api == FETCH
    times_ms, sizes = found.time_ms[fetches], found.size_bytes[fetches]
    assert not ((times_ms > 6000) & (times_ms < 9950)).any()
    assert sizes.max() > 4 * 100 * found.size_bytes[0] * 0.9


def test_a_group_fetches_what_is_produced() -> None:
    plan = plan_of(
        "[{name: w, behaviour: steady, rate: 100, topic: t, clients: 4},"
        " {name: r, behaviour: consumer-group, rate: 20, topic: t, clients: 2}]",
        duration_s=20,
    )
    found = traffic_of_plan(plan)
    produced = int(found.size_bytes[found.api == PRODUCE].sum())
    fetched = int(found.size_bytes[found.api == FETCH].sum())
    assert fetched == pytest.approx(produced, rel=0.05)


def test_a_batch_with_a_lost_response_is_sent_twice() -> None:
    plan = plan_of(
        "[{name: a, behaviour: retries-lost-responses, kinds: [old], rate: 10, topic: t}]"
    )
    events = round(10 * plan.duration_s)
    assert of_api(traffic_of_plan(plan), PRODUCE) == events * 3 * 2


def test_partitions_are_spread_over_the_brokers() -> None:
    tenants = "[{name: a, behaviour: steady, rate: 400, topic: t, clients: 4, arrival: constant}]"
    plan = plan_of(tenants)
    assert set(traffic_of_plan(plan).broker.tolist()) == {1}
    plan = replace(plan, target=Target(brokers=2))
    assert Counter(traffic_of_plan(plan).broker.tolist()) == {1: 100, 2: 100}


def test_what_a_schedule_does_not_say_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = plan_of("[{name: a, behaviour: steady, arrival: closed, topic: t}]")
    with pytest.raises(PlanError, match="tenant a is a closed loop"):
        traffic_of_plan(closed)
    monkeypatch.setattr(plan_traffic, "EVENTS_MAX", 10)
    with pytest.raises(PlanError, match="events, more than 10"):
        traffic_of_plan(plan_of("[{name: a, behaviour: steady, rate: 60, topic: t}]"))
