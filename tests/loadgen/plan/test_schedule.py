"""The events of a plan are the same for a seed, at the times and rates of the plan."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.plan import schedule
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.yaml_reader import PlanError

TENANTS = (
    Tenant("p", "steady", "p", clients=7, rate=300.0),
    Tenant("c", "steady", "c", clients=3, rate=50.0, arrival="constant", start_s=1.0, stop_s=3.0),
    Tenant("b", "steady", "b", clients=4, rate=8.0, arrival="burst", burst_every_s=2.0),
    Tenant("l", "steady", "l", clients=5, arrival="closed"),
)
PLAN = Plan(name="x", duration_s=4.0, tenants=TENANTS, warm_up_s=1.0, seed=5)
COUNT = 1500 + 100 + 40 + 5


def columns(plan: Plan, ids: "list[int] | range") -> dict[str, list[int]]:
    found: dict[str, list[int]] = schedule.events(plan, np.array(ids, np.int64)).to_pydict()
    return found


def rows_of(tenant: int) -> list[tuple[int, int]]:
    found = columns(PLAN, range(COUNT))
    return [
        (t_us, client)
        for t_us, client, of_tenant in zip(
            found["t_us"], found["client"], found["tenant"], strict=True
        )
        if of_tenant == tenant
    ]


def test_the_number_of_events_is_rate_times_duration() -> None:
    assert schedule.event_counts(PLAN) == [1500, 100, 40, 5]
    assert schedule.first_clients(PLAN) == [0, 7, 10, 14]


@given(st.lists(st.integers(0, COUNT - 1), unique=True))
def test_an_event_does_not_depend_on_other_events(ids: list[int]) -> None:
    scheduled = columns(PLAN, range(COUNT))
    some = columns(PLAN, ids)
    assert some == {name: [values[i] for i in ids] for name, values in scheduled.items()}


def test_the_hash_of_event_numbers_is_stable() -> None:
    # Otherwise runs of different versions are not comparable.
    found = columns(PLAN, [0, 1, 2, 1499])
    assert found["t_us"] == [3074220, -211728, 3827021, 2682252]
    assert found["client"] == [2, 4, 2, 6]
    assert found["salt"] == [
        610181131947859690,
        4058849413679271746,
        2183623138903287292,
        707607816241040901,
    ]


def test_another_seed_gives_another_schedule_of_the_same_size() -> None:
    other = Plan(name="x", duration_s=4.0, tenants=TENANTS, warm_up_s=1.0, seed=6)
    assert columns(other, range(100))["t_us"] != columns(PLAN, range(100))["t_us"]
    assert schedule.event_counts(other) == schedule.event_counts(PLAN)


def test_another_tenant_does_not_change_the_times_of_others() -> None:
    more = Plan(
        name="x",
        duration_s=4.0,
        tenants=(*TENANTS, Tenant("z", "steady", "z")),
        warm_up_s=1.0,
        seed=5,
    )
    assert columns(more, range(COUNT)) == columns(PLAN, range(COUNT))


def test_poisson_times_are_spread_over_warm_up_and_run_and_clients() -> None:
    rows = rows_of(0)
    times = [t_us for t_us, _ in rows]
    assert min(times) >= -1_000_000
    assert max(times) < 4_000_000
    by_second = np.bincount([t_us // 1_000_000 + 1 for t_us in times], minlength=5)
    assert all(230 < count < 370 for count in by_second)  # 300 within four standard deviations
    by_client = np.bincount([client for _, client in rows])
    assert len(by_client) == 7
    assert all(150 < count < 280 for count in by_client)


def test_constant_arrival_has_equal_intervals() -> None:
    assert rows_of(1) == [(1_000_000 + i * 20_000, 7 + i % 3) for i in range(100)]


def test_the_events_of_a_burst_have_the_same_time() -> None:
    assert rows_of(2) == [(-1_000_000 + i // 16 * 2_000_000, 10 + i % 4) for i in range(40)]


def test_a_closed_loop_has_one_event_per_client() -> None:
    assert rows_of(3) == [(-1_000_000, 14 + i) for i in range(5)]


def test_more_events_than_a_schedule_holds_are_refused() -> None:
    plan = Plan(
        name="x", duration_s=10_000.0, tenants=(Tenant("p", "steady", "p", rate=1_000_000.0),)
    )
    with pytest.raises(PlanError, match="10000000000 events are more than 4294967295"):
        schedule.event_counts(plan)


@given(st.integers(1, 5))
def test_each_worker_has_the_events_of_its_clients_in_the_order_of_time(workers: int) -> None:
    found = schedule.all_events(PLAN)
    parts = [part.to_pylist() for part in schedule.by_worker(found, workers)]
    assert len(parts) == workers
    for worker, part in enumerate(parts):
        assert {row["client"] % workers for row in part} <= {worker}
        assert part == sorted(part, key=lambda row: (row["t_us"], row["event_id"]))
    together = [row for part in parts for row in part]
    assert sorted(together, key=lambda row: row["event_id"]) == found.to_pylist()
