"""The events of a plan are the same for a seed, at the times and rates of the plan."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loadgen.plan import schedule
from loadgen.plan.plan import Arrival, Plan, Tenant
from loadgen.plan.rates import Ramp, RatePiece, RateStep
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


rates_per_s = st.integers(0, 2000).map(float)
ramps = st.builds(Ramp, rates_per_s, rates_per_s)
seconds = st.integers(1, 40).map(lambda tenths: tenths / 10)
steps = st.lists(st.builds(RateStep, rates_per_s | ramps, seconds), min_size=1, max_size=5)


def integral(pieces: list[RatePiece], from_s: float, to_s: float) -> float:
    """Add up the areas of the trapeziums below the rate."""
    total = 0.0
    for piece in pieces:
        begin_s, end_s = max(from_s, piece.begin_s), min(to_s, piece.end_s)
        if begin_s < end_s:
            slope = (piece.last - piece.first) / (piece.end_s - piece.begin_s)
            middle_s = (begin_s + end_s) / 2
            total += (piece.first + slope * (middle_s - piece.begin_s)) * (end_s - begin_s)
    return total


@given(
    rate=ramps | steps.map(tuple),
    arrival=st.sampled_from(("constant", "burst")),
    warm_up_s=st.sampled_from((0.0, 1.5)),
    start_s=st.none() | st.just(2.0),
    interval=st.tuples(seconds, seconds),
)
def test_as_many_events_are_due_in_an_interval_as_the_integral_of_the_rate(
    rate: "Ramp | tuple[RateStep, ...]",
    arrival: Arrival,
    warm_up_s: float,
    start_s: float | None,
    interval: tuple[float, float],
) -> None:
    tenant = Tenant("a", "steady", rate=rate, arrival=arrival, start_s=start_s, burst_every_s=0.5)
    plan = Plan(name="x", duration_s=8.0, tenants=(tenant,), warm_up_s=warm_up_s)
    pieces = plan.rate_pieces(tenant)
    expected = integral(pieces, -10, 10)
    assume(expected)
    [count] = schedule.event_counts(plan)
    # The sum of floats may be a hair beside a half, where Python rounds the other way.
    assert count >= 1
    assert abs(count - max(1, expected)) < 0.5 + 1e-6
    times_s = np.array(columns(plan, range(count))["t_us"]) / 1e6
    begin_s, stop_s = plan.span_s(tenant)
    assert begin_s <= times_s.min()
    assert times_s.max() < stop_s
    from_s = begin_s + interval[0]
    to_s = from_s + interval[1]
    if arrival == "burst":  # as many as are due until the next burst
        assert set(np.rint((times_s - begin_s) * 2)) == set((times_s - begin_s) * 2)
        from_s, to_s = (begin_s + int((t_s - begin_s) * 2) / 2 for t_s in (from_s, to_s))
    found = int(((times_s >= from_s - 1e-6) & (times_s < to_s - 1e-6)).sum())
    # One for the ends of the interval, one for the whole number of events, and those of a µs.
    due = integral(pieces, from_s, to_s)
    assert abs(found - due * count / expected) < 1.01, (found, due)
    assert abs(count - expected) <= max(0.5, 1 - expected) + 1e-6


def test_a_ramp_has_equal_numbers_of_events_in_equal_areas() -> None:
    ramp = Tenant("a", "steady", rate=Ramp(0.0, 100.0), arrival="constant")
    plan = Plan(name="x", duration_s=10.0, tenants=(ramp,))
    assert schedule.event_counts(plan) == [500]
    times = columns(plan, [0, 5, 20, 125, 245, 499])["t_us"]
    # 5 * t**2 events until t.
    assert times == [0, 1_000_000, 2_000_000, 5_000_000, 7_000_000, 9_989_995]


def test_random_arrivals_follow_the_rate() -> None:
    rate = (RateStep(100.0, 2.0), RateStep(0.0, 1.0), RateStep(Ramp(0.0, 1000.0)))
    plan = Plan(name="x", duration_s=5.0, tenants=(Tenant("p", "steady", rate=rate),))
    assert schedule.event_counts(plan) == [1200]
    by_second = np.bincount(np.array(columns(plan, range(1200))["t_us"]) // 1_000_000)
    # Five standard deviations.
    assert by_second[2] == 0
    assert [abs(by_second[s] - due) < 5 * due**0.5 for s, due in ((0, 100), (1, 100))] == [True] * 2
    assert [abs(by_second[s] - due) < 5 * due**0.5 for s, due in ((3, 250), (4, 750))] == [True] * 2


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
