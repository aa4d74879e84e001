"""The arrival process of a schedule is found again."""

import numpy as np
import pytest

from loadgen.learning.arrivals import arrivals_of, span_us
from loadgen.plan.schedule import event_counts, events
from tests.loadgen.learning.made_traffic import plan_of


@pytest.mark.parametrize(
    ("fields", "arrival", "rate"),
    [
        ("rate: 40", "poisson", 40),
        ("rate: 1000", "poisson", 1000),
        ("rate: 40, arrival: constant", "constant", 40),
        ("rate: 1000, arrival: constant", "constant", 1000),
        ("rate: 40, arrival: burst, burst_every_s: 0.5", "burst", 40),
        ("rate: 1000, arrival: burst, burst_every_s: 2", "burst", 1000),
    ],
)
def test_the_process_of_a_schedule_is_found_again(fields: str, arrival: str, rate: float) -> None:
    plan = plan_of(f"name: a, behaviour: steady, topic: t, {fields}")
    ids = np.arange(sum(event_counts(plan)))
    times_us = np.sort(events(plan, ids).column("t_us").to_numpy())
    found = arrivals_of(times_us, 0, 20_000_000)
    assert (found.arrival, found.start_s, found.stop_s) == (arrival, None, None)
    assert found.rate == pytest.approx(rate, rel=0.01)
    if arrival == "burst":
        assert found.burst_every_s == plan.tenants[0].burst_every_s


def test_a_process_that_runs_for_a_part_of_the_time_has_its_ends() -> None:
    times_us = np.arange(5_050_000, 10_000_000, 100_000)
    found = arrivals_of(times_us, 0, 20_000_000)
    assert (found.start_s, found.stop_s, found.rate) == (5.0, 10.0, 10.0)


def test_few_events_are_a_poisson_process() -> None:
    assert span_us(np.array([5])) == (5, 6)
    found = arrivals_of(np.array([1_000_000, 3_000_000]), 0, 4_000_000)
    assert (found.arrival, found.rate) == ("poisson", 0.5)
    assert arrivals_of(np.full(100, 7), 7, 8).arrival == "poisson"
