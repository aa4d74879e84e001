"""A run as OpenMessaging Benchmark writes its results, for the tools that read those.

Source: `io.openmessaging.benchmark.TestResult` and `WorkloadGenerator`. There is a number for every
ten seconds. Latencies of publishing and end to end are in ms, the publish delay in µs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from loadgen.analysis.backlogs import Cell
from loadgen.analysis.hdr_histogram import quantiles
from loadgen.analysis.measures import (
    END_TO_END,
    PERIOD_S,
    PUBLISH,
    PUBLISH_DELAY,
    Measured,
    Times,
    by_period,
    of_measure,
    period_s_of,
    periods_in,
    summed,
)
from loadgen.plan.plan import BEHAVIOURS, Plan, Tenant

_SUFFIXES = {
    "Avg": "mean_us",
    "50pct": "p50_us",
    "75pct": "p75_us",
    "95pct": "p95_us",
    "99pct": "p99_us",
    "999pct": "p999_us",
    "9999pct": "p9999_us",
    "Max": "max_us",
}
_TICKS_PER_HALF = 100


class _Latency(NamedTuple):
    """A latency of the result: its name, our measure, and its unit."""

    name: str
    measure: str
    value: Callable[[float], float]


_LATENCIES = (
    _Latency("PublishLatency", PUBLISH, lambda time_us: time_us / 1000),
    _Latency("PublishDelayLatency", PUBLISH_DELAY, round),
    _Latency("EndToEndLatency", END_TO_END, lambda time_us: time_us / 1000),
)


def benchmark_result(
    summary: Mapping[str, Any],
    measured: Sequence[Measured],
    cells: Mapping[str, Sequence[Cell]],
    plan: Plan,
) -> dict[str, Any]:
    """Return the result as JSON values. `driver`, which the charts name a run by, is its run id.

    Args:
        summary: of the run, with `run_id`.
        measured: its latencies.
        cells: the lag of its groups.
        plan: of the run.
    """
    found = {
        "workload": plan.name,
        "driver": summary["run_id"],
        **_shape(plan),
        **_rates(summary, measured, cells, plan),
    }
    for latency in _LATENCIES:
        parts = of_measure(measured, latency.measure)
        periods = by_period(parts)
        of_periods = [periods.get(number, Times()) for number, _, _ in periods_in(plan)]
        total = summed(periods.values())
        name = latency.name[0].lower() + latency.name[1:]
        for suffix, value in _values(total, latency).items():
            found[f"aggregated{latency.name}{suffix}"] = value
            of_period = [_values(times, latency)[suffix] for times in of_periods]
            found[name + suffix] = _every_ten_seconds(of_period, plan)
        found[f"aggregated{latency.name}Quantiles"] = {
            str(percent): latency.value(time_us)
            for percent, time_us, _ in quantiles(total.by_time(), _TICKS_PER_HALF)
        }
    return found


def _values(times: Times, latency: _Latency) -> dict[str, float]:
    """Return the figures by their suffixes; 0 without any time, as an empty histogram has it."""
    figures = times.figures()
    return {suffix: latency.value(figures[name] or 0.0) for suffix, name in _SUFFIXES.items()}


def _shape(plan: Plan) -> dict[str, int]:
    producers = [tenant for tenant in plan.tenants if "records" in BEHAVIOURS[tenant.behaviour]]
    consumers = [tenant for tenant in plan.tenants if tenant.is_received]
    topics, groups = max(1, len(plan.topics)), max(1, len({t.group for t in consumers}))
    sizes = [size for tenant in producers for size in tenant.record_sizes]
    return {
        "messageSize": round(sum(sizes) / len(sizes)) if sizes else 0,
        "topics": topics,
        "partitions": max((topic.partitions for topic in plan.topics), default=1),
        "producersPerTopic": _clients(producers) // topics,
        "consumersPerTopic": _clients(consumers) // (topics * groups),
    }


def _clients(tenants: Iterable[Tenant]) -> int:
    return sum(tenant.clients for tenant in tenants)


def _rates(
    summary: Mapping[str, Any],
    measured: Sequence[Measured],
    cells: Mapping[str, Sequence[Cell]],
    plan: Plan,
) -> dict[str, list[float]]:
    """Return rates and the backlog of each period; records are messages, batches may fail."""
    producers = {part.tenant for part in of_measure(measured, PUBLISH)}
    seconds = [row for row in summary["series"]["seconds"] if row["tenant"] in producers]
    all_cells = [cell for of_group in cells.values() for cell in of_group]
    rates: dict[str, list[float]] = {
        name: [] for name in ("publishRate", "publishErrorRate", "consumeRate", "backlog")
    }
    for _, start_s, length_s in periods_in(plan):
        end_s = start_s + length_s
        rows = [row for row in seconds if start_s <= row["second"] < end_s]
        of_period = [cell for cell in all_cells if start_s < cell.end_s <= end_s]
        failed = sum(row["errors"] + row["lost"] for row in rows)
        rates["publishRate"].append(sum(row["records"] for row in rows) / length_s)
        rates["publishErrorRate"].append(failed / length_s)
        rates["consumeRate"].append(sum(cell.received for cell in of_period) / length_s)
        rates["backlog"].append(sum(_lag_at(of_group, end_s) for of_group in cells.values()))
    return {name: _every_ten_seconds(values, plan) for name, values in rates.items()}


def _lag_at(cells: Sequence[Cell], time_s: float) -> int:
    return next((cell.lag for cell in reversed(cells) if cell.end_s <= time_s), 0)


def _every_ten_seconds(values: Sequence[float], plan: Plan) -> list[float]:
    """Return a value for every ten seconds; periods of long runs are a multiple of that."""
    times = period_s_of(plan) // PERIOD_S
    return [value for value in values for _ in range(times)]
