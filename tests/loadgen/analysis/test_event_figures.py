"""Every percentile of a summary is within half a percent of the exact one."""

import random
from collections.abc import Iterable
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from client.resources import Address
from loadgen.analysis.event_figures import PERCENTILE_NAMES
from loadgen.analysis.summary import RunData, summarise
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.run_spec import PreparedTarget, Topology
from loadgen.rows import ARROW_SCHEMA
from tests.loadgen.summaries import CONFIG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
NAMES = ("even", "uneven", "few")
PLAN = Plan(name="p", duration_s=4.0, tenants=tuple(Tenant(name, "steady", name) for name in NAMES))
EVENTS = 1500
Row = dict[str, Any]


def rows_of(random_: random.Random, tenant: str, first: int, count: int) -> list[Row]:
    """Make the only attempts of events; some have no response, and a few are in the warm-up."""
    rows = []
    for event_id in range(first, first + count):
        intended_us = random_.randrange(-SECOND // 10, 4 * SECOND)
        late_us = round(random_.lognormvariate(4, 2))
        response_us = intended_us + late_us + round(random_.lognormvariate(8, 2.5))
        is_lost = random_.random() < 0.02
        rows.append(
            {
                "worker": 0, "event_id": event_id, "tenant": tenant, "user": "ANONYMOUS",
                "api": "Produce", "intended_us": intended_us, "submitted_us": intended_us + late_us,
                "sent_us": intended_us + late_us, "attempt": 1, "kind": "new", "early_us": 0,
                "throttle_time_ms": 0, "bytes": 1, "mutations": 0, "node": 1,
                "status": "lost" if is_lost else "responded",
                "error_code": None if is_lost else 0,
                "response_us": None if is_lost else response_us,
            }
        )  # fmt: skip
    return rows


def exact(times_us: Iterable[int], *shares: float) -> list[Any]:
    ordered = sorted(times_us)
    ranks = [max(1, ceil(round(share * len(ordered), 6))) for share in shares]
    return [pytest.approx(max(1, ordered[rank - 1]), rel=0.005) for rank in ranks]


@pytest.mark.parametrize("seed", [1, 2])
def test_percentiles_are_exact_to_half_a_percent(
    spark: "SparkSession", tmp_path: Path, seed: int
) -> None:
    random_ = random.Random(seed)
    counts = {"even": EVENTS, "uneven": EVENTS, "few": 7}
    rows: list[Row] = []
    for tenant, count in counts.items():
        rows += rows_of(random_, tenant, len(rows), count)
    path = tmp_path / "results.parquet"
    pq.write_table(pa.Table.from_pylist(rows, ARROW_SCHEMA), path)
    target = PreparedTarget(Topology({1: Address("h", 1)}, 1, {}), CONFIG)
    summary = summarise(spark, RunData(PLAN, target, str(path), None)).summary

    end_us = max(4 * SECOND, summary["totals"]["end_us"])
    measured = [row for row in rows if row["intended_us"] >= 0]
    latency_us = {
        row["event_id"]: (end_us if row["response_us"] is None else row["response_us"])
        - row["intended_us"]
        for row in measured
    }
    for found in summary["tenants"]:
        mine = [latency_us[row["event_id"]] for row in measured if row["tenant"] == found["tenant"]]
        assert found["events"] == len(mine)
        assert found["response_us"] == exact(mine, 0.5, 0.9, 0.99, 0.999, 0.9999)
        named = [found[name] for name in PERCENTILE_NAMES]
        assert named == found["response_us"]
        assert found["response_max_us"] == max(mine) >= max(found["response_us"])
    for found in summary["series"]["latencies"]:
        mine = [
            latency_us[row["event_id"]]
            for row in measured
            if row["tenant"] == found["tenant"] and row["intended_us"] // SECOND == found["second"]
        ]
        assert found["response_us"] == exact(mine, 0.5, 0.9, 0.99)
    for found in summary["requests"]:
        service_us = [
            row["response_us"] - row["sent_us"]
            for row in rows
            if row["tenant"] == found["tenant"] and row["status"] == found["status"] == "responded"
        ]
        assert found["service_us"] == (exact(service_us, 0.5, 0.99) if service_us else None)
    lateness_us = [row["submitted_us"] - row["intended_us"] for row in measured]
    for found in summary["lateness_us"].values():
        assert found == exact(lateness_us, 0.5, 0.99)
    cells = summary["series"]["heat"]["cells"]
    assert sum(cell["events"] for cell in cells) == len(measured)
    assert all(0 <= cell["bin"] < 24 for cell in cells)
