"""Recoveries after faults, by Spark SQL over hand-made rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from client.resources import Address
from loadgen.analysis.read_back import ARROW_SCHEMA as STORED_SCHEMA
from loadgen.analysis.recoveries import RECOVERED_CHECK, STORED_CHECK, windows_of
from loadgen.analysis.summary import RunData, summarise
from loadgen.fault_rows import FaultRow
from loadgen.plan.faults import Fault
from loadgen.plan.pauses import Pause
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.run_spec import PreparedTarget, Topology
from loadgen.rows import ARROW_SCHEMA
from tests.loadgen.result_rows import row
from tests.loadgen.summaries import CONFIG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
FAULT = Fault("f", 5.0, 2.0, rule={}, recovered_within_s=1.0)
PLAN = Plan(
    name="p",
    duration_s=12.0,
    tenants=(Tenant("quick", "steady", "quick"), Tenant("slow", "steady", "slow")),
    faults=(FAULT,),
)
CARRIED_OUT = [
    FaultRow(0, "f", "rule", 5 * SECOND, begun_us=5 * SECOND, ended_us=7 * SECOND, fired=3)
]


def rows_of(tenant: str, first_id: int, silent_until_s: float) -> list[dict[str, Any]]:
    """Return ten requests per second, with none acknowledged from the fault until a time."""
    found = []
    for index in range(120):
        sent_us = index * SECOND // 10 + 1000
        is_away = 5 * SECOND <= sent_us < silent_until_s * SECOND
        error = {"error_code": 19, "base_offset": -1} if is_away else {}
        found.append(row(first_id + index, tenant, sent_us=sent_us, **error))
    return found


def summary_of(spark: "SparkSession", folder: Path, faults: Sequence[FaultRow]) -> dict[str, Any]:
    rows = [*rows_of("quick", 0, 7.25), *rows_of("slow", 1000, 9.0)]
    for name, table in {
        "results": pa.Table.from_pylist(rows, ARROW_SCHEMA),
        "read-back": pa.Table.from_pylist(
            [
                {name: sent.get(name) for name in STORED_SCHEMA.names}
                for sent in rows[1:]
                if not sent["error_code"]
            ],
            STORED_SCHEMA,
        ),
    }.items():
        (folder / name).mkdir()
        pq.write_table(table, folder / name / "part-0.parquet")
    target = PreparedTarget(Topology({1: Address("h", 1)}, 1, {}), CONFIG)
    paths = str(folder / "results"), str(folder / "read-back")
    return summarise(spark, RunData(PLAN, target, *paths, faults=faults)).summary


def test_each_tenant_has_its_recovery_and_a_verdict(spark: "SparkSession", tmp_path: Path) -> None:
    summary = summary_of(spark, tmp_path, CARRIED_OUT)
    quick, slow = summary["recoveries"]
    assert (quick["rate_before"], slow["rate_before"]) == (10.0, 10.0)
    assert (quick["recovered_us"], slow["recovered_us"]) == (300_000, 2_000_000)
    assert (quick["first_success_us"], slow["first_success_us"]) == (301_500, 2_001_500)
    assert (quick["longest_gap_us"], slow["longest_gap_us"]) == (2_301_500, 4_001_500)
    verdicts = {
        (verdict["check"].partition(":")[0], verdict["scope"]): verdict["verdict"]
        for verdict in summary["verdicts"]
    }
    assert verdicts[RECOVERED_CHECK, "fault f, tenant quick"] == "passed"
    assert verdicts[RECOVERED_CHECK, "fault f, tenant slow"] == "failed"
    # The batch that is missing was sent long before the fault.
    assert verdicts[STORED_CHECK, "fault f"] == "passed"
    assert verdicts["acknowledged batches are stored, exactly once", "tenant quick"] == "failed"
    assert summary["faults"][0]["fired"] == 3


def test_windows_end_at_the_next_fault_and_begin_after_the_one_before() -> None:
    plan = Plan(name="p", duration_s=60.0, tenants=PLAN.tenants[:1], faults=(FAULT, FAULT, FAULT))
    rows = [
        FaultRow(0, "a", "rule", 0, begun_us=8 * SECOND, ended_us=9 * SECOND),
        FaultRow(1, "b", "rule", 0, begun_us=12 * SECOND, ended_us=60 * SECOND),
        FaultRow(2, "c", "rule", 0),
    ]
    times = [
        tuple(time_us / SECOND for time_us in window[2:6]) for window in windows_of(plan, rows)
    ]
    assert times == [(3.0, 8.0, 9.0, 12.0), (9.0, 12.0, 12.0, 42.0)]


def test_no_window_has_a_pause_of_the_tenant() -> None:
    pauses = (Pause(2.0, 2.0), Pause(11.0, 3.0))
    group = Tenant("g", "consumer-group", "g", pauses=pauses)
    plan = Plan(name="p", duration_s=60.0, tenants=(group,), faults=(FAULT, FAULT))
    rows = [
        FaultRow(0, "a", "rule", 0, begun_us=6 * SECOND, ended_us=7 * SECOND),
        FaultRow(1, "in a pause", "rule", 0, begun_us=12 * SECOND, ended_us=13 * SECOND),
    ]
    times = [
        tuple(time_us / SECOND for time_us in window[2:6]) for window in windows_of(plan, rows)
    ]
    assert times == [(4.0, 6.0, 7.0, 11.0)]
