"""Batches as the queries of the live figures return them."""

from typing import Any

from client.resources import Address
from loadgen.analysis.latencies import bin_of
from loadgen.live.figures import Batch, LiveFigures
from loadgen.plan.plan import Plan, Tenant, Topic
from loadgen.plan.run_spec import PreparedTarget, Topology
from tests.loadgen.summaries import CONFIG

PLAN = Plan(
    name="small",
    duration_s=10.0,
    tenants=(Tenant("shop", "steady", "shop"), Tenant("other", "steady", "other")),
    topics=(Topic("t", 1),),
)
TARGET = PreparedTarget(Topology({1: Address("h", 1)}, 1, {"t": [1]}), CONFIG)
SECOND = 1_000_000


def requests(second: int, count: int = 10, **changes: Any) -> dict[str, Any]:
    """Return requests of one kind that were sent in a second."""
    return {
        "tenant": "shop",
        "second": second,
        "api": "Produce",
        "status": "responded",
        "kind": "new",
        "error_code": 0,
        "requests": count,
        "throttled": 0,
        "throttle_total_ms": 0,
        "throttle_max_ms": 0,
        "sent_early": 0,
        "early_max_us": 0,
        "responded_early": 0,
        "rows_of_events": 0,
        "end_us": second * SECOND + SECOND // 2,
        **changes,
    }


def events(second: int, latency_us: int | None, count: int = 10) -> dict[str, Any]:
    """Return events of one latency, or some that did not complete."""
    is_complete = latency_us is not None
    return {
        "tenant": "shop",
        "second": second,
        "unfinished_cell": None if is_complete else second * 100,
        "bin": bin_of(latency_us) if latency_us is not None else None,
        "events": count,
        "response_max_us": latency_us,
        "expired": 0,
        "latest_us": latency_us,
    }


def lateness(worker: int, read_s: float, late_us: int = 100, count: int = 10) -> dict[str, Any]:
    """Return how late a worker was, and until when its rows have been read."""
    read_us = round(read_s * SECOND)
    return {"worker": worker, "bin": bin_of(late_us), "events": count, "read_us": read_us}


def figures_of(*batches: Batch, plan: Plan = PLAN) -> LiveFigures:
    """Return the figures of batches."""
    figures = LiveFigures(plan, TARGET)
    for batch in batches:
        figures.take(batch)
    return figures


def batch_of_second(second: int) -> Batch:
    """Return ten requests of a second, which two workers sent."""
    return Batch(
        [requests(second)],
        [lateness(0, second + 0.5), lateness(1, second + 0.5)],
        [events(second, 2000)],
    )
