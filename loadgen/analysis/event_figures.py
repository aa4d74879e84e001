"""What follows from times in bins, which `row_sums` counts."""

from collections.abc import Sequence
from typing import Any

from loadgen.analysis.latencies import Latencies, time_of
from loadgen.analysis.measures import RESPONSE

Rows = list[dict[str, Any]]

PERCENTILES = (0.5, 0.9, 0.99, 0.999, 0.9999)
PERCENTILE_NAMES = ("p50_us", "p90_us", "p99_us", "p999_us", "p9999_us")
LATENESS_SHARES = (0.5, 0.99)


def tenants_of(rows: Rows) -> Rows:
    """Return the events of each tenant and the percentiles of their latencies.

    `rows` are those of `row_sums.measured_rows`.
    """
    by_tenant: dict[str, Rows] = {}
    for row in rows:
        if row["measure"] == RESPONSE:
            by_tenant.setdefault(row["tenant"], []).append(row)
    return [_tenant(name, periods) for name, periods in sorted(by_tenant.items())]


def _named(percentiles_us: Sequence[float] | None) -> dict[str, float | None]:
    """Return the percentiles of PERCENTILES by their names."""
    if percentiles_us is None:
        return dict.fromkeys(PERCENTILE_NAMES)
    return dict(zip(PERCENTILE_NAMES, percentiles_us, strict=True))


def _tenant(name: str, rows: Rows) -> dict[str, Any]:
    longest_us = max(row["max_us"] for row in rows)
    latencies = Latencies(pair for row in rows for pair in row["times"].counts.items())
    percentiles_us = latencies.percentiles_us(PERCENTILES, longest_us)
    return {
        "tenant": name,
        "events": latencies.counts.total(),
        "completed": sum(row["completed"] for row in rows),
        "response_us": percentiles_us,
        **_named(percentiles_us),
        "response_max_us": longest_us,
    }


def heat_of(rows: Rows) -> Rows:
    """Return the cells of the heat map: events by time and latency."""
    cells = [{"cell": row["cell"], "bin": row["heat_bin"], "events": row["events"]} for row in rows]
    return sorted(cells, key=lambda cell: (cell["cell"], cell["bin"]))


def latencies_of(rows: Rows) -> Rows:
    """Return the percentiles of each second and tenant."""
    return [
        {
            "second": row["second"],
            "tenant": row["tenant"],
            "response_us": [time_of(row[name]) for name in ("p50", "p90", "p99")],
        }
        for row in rows
    ]


def lateness_of(lateness: Rows, delays: Rows) -> dict[str, list[float] | None]:
    """Return the median and the p99 of how late events were submitted, and first sent."""

    def percentiles_us(rows: Rows, name: str) -> list[float] | None:
        bins = ((row[name], row["events"]) for row in rows if row[name] is not None)
        return Latencies(bins).percentiles_us(LATENESS_SHARES)

    return {
        "lateness_us": percentiles_us(lateness, "lateness_bin"),
        "sent_us": percentiles_us(delays, "sent_bin"),
    }
