"""A run has what the charts of OpenMessaging Benchmark read, with its names and units."""

from typing import Any

import pytest

from loadgen.analysis.backlogs import Cell
from loadgen.analysis.benchmark_result import benchmark_result
from loadgen.analysis.latencies import Latencies, bin_of
from loadgen.analysis.measures import END_TO_END, PUBLISH, PUBLISH_DELAY, Measured, Times
from loadgen.plan.plan import Plan, Tenant, Topic

PLAN = Plan(
    name="orders",
    duration_s=20.0,
    tenants=(
        Tenant("shop", "steady", clients=4, record_bytes=(100, 300)),
        Tenant("reader", "consumer-group", clients=6, group="a"),
        Tenant("other", "consumer-group", clients=2, group="b"),
    ),
    topics=(Topic("load", 12), Topic("second", 3)),
)
READ_BY_PERIOD = (
    "publishRate", "publishErrorRate", "consumeRate", "backlog", "publishLatency99pct",
    "publishDelayLatency99pct", "endToEndLatency95pct", "endToEndLatencyAvg",
)  # fmt: skip
READ_IN_ALL = (
    "aggregatedPublishLatencyQuantiles",
    "aggregatedPublishDelayLatencyQuantiles",
    "aggregatedEndToEndLatencyQuantiles",
)
SUFFIXES = ("Avg", "50pct", "75pct", "95pct", "99pct", "999pct", "9999pct", "Max")


def times(time_us: int, count: int) -> Times:
    return Times(Latencies([(bin_of(time_us), count)]), time_us, time_us * count)


def result(**changes: Any) -> dict[str, Any]:
    seconds = [
        {"tenant": "shop", "second": second, "records": 30, "errors": 1, "lost": 1}
        for second in range(-1, 20)
    ]
    seconds.append({"tenant": "reader", "second": 3, "records": 0, "errors": 50, "lost": 0})
    measured = [
        Measured("shop", PUBLISH, "", {0: times(4_000, 10), 1: times(8_000, 30)}),
        Measured("shop", PUBLISH_DELAY, "", {0: times(70, 10)}),
        Measured("shop", END_TO_END, "a", {0: times(9_000, 10)}),
        Measured("shop", END_TO_END, "b", {1: times(30_000, 10)}),
    ]
    cells = {
        "a": [Cell(5.0, 7, 100, 9), Cell(15.0, 3, 50, 9)],
        "b": [Cell(0.0, 1, 999, 9), Cell(10.0, 20, 30, 9)],
    }
    given: dict[str, Any] = {"measured": measured, "cells": cells, **changes}
    summary = {"run_id": "orders-1", "series": {"seconds": seconds}}
    return benchmark_result(summary, given["measured"], given["cells"], given.get("plan", PLAN))


def test_the_fields_have_the_units_of_the_benchmark() -> None:
    found = result()
    assert (found["workload"], found["driver"]) == ("orders", "orders-1")
    assert (found["messageSize"], found["topics"], found["partitions"]) == (200, 2, 12)
    assert (found["producersPerTopic"], found["consumersPerTopic"]) == (2, 2)
    assert found["publishRate"] == [30.0, 30.0]
    assert found["publishErrorRate"] == [2.0, 2.0]
    assert found["consumeRate"] == [13.0, 5.0]
    assert found["backlog"] == [27, 23]
    assert found["publishLatency99pct"] == pytest.approx([4.0, 8.0], rel=0.005)
    assert found["aggregatedPublishLatencyMax"] == 8.0
    assert found["aggregatedPublishLatencyAvg"] == 7.0
    assert found["publishDelayLatency50pct"] == [pytest.approx(70, abs=1), 0]
    assert isinstance(found["aggregatedPublishDelayLatency99pct"], int)
    assert found["endToEndLatencyMax"] == [9.0, 30.0]


def test_every_field_of_the_benchmark_is_there_for_each_ten_seconds_and_in_all() -> None:
    found = result()
    for name in READ_BY_PERIOD:
        assert len(found[name]) == 2
    for latency in ("PublishLatency", "PublishDelayLatency", "EndToEndLatency"):
        for suffix in SUFFIXES:
            assert len(found[latency[0].lower() + latency[1:] + suffix]) == 2
            assert found[f"aggregated{latency}{suffix}"] > 0
    for name in READ_IN_ALL:
        quantiles = sorted((float(percent), value) for percent, value in found[name].items())
        assert quantiles[-1][0] == 100.0
        assert [value for _, value in quantiles] == sorted(value for _, value in quantiles)


def test_a_run_without_consumers_has_zeros_as_an_empty_histogram_has() -> None:
    found = result(measured=[], cells={})
    assert found["consumeRate"] == found["endToEndLatencyAvg"] == [0.0, 0.0]
    assert found["aggregatedEndToEndLatencyQuantiles"] == {}


def test_longer_periods_count_for_each_ten_seconds_of_them() -> None:
    plan = Plan(name="long", duration_s=14_400.0, tenants=PLAN.tenants)
    found = result(plan=plan)
    assert len(found["publishLatencyAvg"]) == 1440
    assert found["publishLatencyAvg"][:3] == [4.0, 4.0, 8.0]
