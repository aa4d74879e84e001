"""What the queries of a run with a fault find in a small run, for docs/load-queries.md."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from client.resources import Address
from loadgen.analysis.read_back import ARROW_SCHEMA as STORED_SCHEMA
from loadgen.analysis.recoveries import QUERIES
from loadgen.analysis.summary import RunData, arguments_of, open_views
from loadgen.fault_rows import FaultRow
from loadgen.plan.faults import Fault
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.run_spec import PreparedTarget, Topology
from loadgen.rows import ARROW_SCHEMA
from tests.loadgen.result_rows import row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORDS = {
    "fault_gaps": """\
For each fault and tenant: the acknowledgements before the fault began and after it; the time from
its end to the first one (`first_us`), the longest time without one (`gap_us`), and the last one
(`last_us`). The window function finds the acknowledgement before each one.""",
    "recoveries": """\
For each fault and tenant: the time from the end of the fault to the first tenth of a second from
which on one second has 90 % of the acknowledgements of a second before the fault, and no error. The
window adds up ten cells. A tenant that does not recover has no row.""",
}
RUN_WORDS = (
    "The result for a run of 12 s with 10 requests per second and a fault from 5 s to 7 s, in"
    " which the broker refused all requests until 7.25 s:"
)
_SECOND = 1_000_000
_FAULT = Fault("f", 5.0, 2.0, rule={}, recovered_within_s=1.0)
_PLAN = Plan(
    name="p", duration_s=12.0, tenants=(Tenant("shop", "steady", "shop"),), faults=(_FAULT,)
)
_CARRIED_OUT = FaultRow(0, "f", "rule", 5 * _SECOND, begun_us=5 * _SECOND, ended_us=7 * _SECOND)
_CONFIG = {
    "controller.quota.window.num": 11.0,
    "controller.quota.window.size.seconds": 1.0,
    "producer.id.quota.window.size.seconds": 3600.0,
}


def results_of(spark: "SparkSession", folder: Path) -> dict[str, str]:
    """Return a table in Markdown for each query; the rows are written to `folder`."""
    sent = [_row(index) for index in range(120)]
    stored = [
        {name: batch.get(name) for name in STORED_SCHEMA.names}
        for batch in sent
        if not batch["error_code"]
    ]
    paths = {"results": str(folder / "results"), "read-back": str(folder / "read-back")}
    tables = {
        "results": pa.Table.from_pylist(sent, ARROW_SCHEMA),
        "read-back": pa.Table.from_pylist(stored, STORED_SCHEMA),
    }
    for name, table in tables.items():
        Path(paths[name]).mkdir(parents=True)
        pq.write_table(table, Path(paths[name]) / "part-0.parquet")
    target = PreparedTarget(Topology({1: Address("h", 1)}, 1, {}), _CONFIG)
    data = RunData(_PLAN, target, paths["results"], paths["read-back"], faults=[_CARRIED_OUT])
    open_views(spark, data, partitions=1)
    arguments = {**arguments_of(_PLAN), "end_us": 12 * _SECOND}
    return {name: _table(spark.sql(sql, arguments).collect()) for name, sql in QUERIES.items()}


def _row(index: int) -> dict[str, Any]:
    sent_us = index * _SECOND // 10 + 1000
    is_refused = 5 * _SECOND <= sent_us < 7.25 * _SECOND
    error = {"error_code": 19, "base_offset": -1} if is_refused else {}
    return row(index, "shop", sent_us=sent_us, **error)


def _table(rows: list[Any]) -> str:
    names = list(rows[0].asDict())
    lines = [names, ["---"] * len(names), *([str(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
