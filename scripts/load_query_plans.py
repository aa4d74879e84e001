"""Write docs/load-queries.md: the plan that Spark makes for each query of a load's summary.

python -m scripts.load_query_plans
"""

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from client.resources import Address
from loadgen.analysis.read_back import SCHEMA as READ_BACK_SCHEMA
from loadgen.analysis.run_sums import READ_BACK, RECEIPTS, RESULTS, RunSums, job, source_of
from loadgen.analysis.summary import (
    RunData,
    arguments_of,
    open_views,
    queries_of,
)
from loadgen.fault_rows import FaultRow
from loadgen.plan.plan_file import load_plan
from loadgen.plan.run_spec import PreparedTarget, Topology
from loadgen.receipts import SCHEMA as RECEIPTS_SCHEMA
from loadgen.rows import SCHEMA
from loadgen.spark_session import load_session
from loadgen.storage import Storage
from scripts.fault_query_results import RUN_WORDS, WORDS, results_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TARGET = Path(__file__).parents[1] / "docs" / "load-queries.md"
_HEAD = """\
# The queries of a load's summary

*The plan of Spark for each query of [the summary](load.md#checks), from the leaves up: `python -m
scripts.load_query_plans` writes this page.*

Arrow adds up most of the summary, in the job `sums`
([ADR 54](adr/0054-arrow-adds-up-the-summary.md)); fewer than 300,000 rows need no job for that.
Spark SQL does the rest: what needs the rows in order, or a join. `Exchange` is a shuffle; each
window function and each `DISTINCT` needs one. Nothing but results go to the driver: one row per
tenant, user, second, cell of the heat map or point of a chart, and bins of percentiles.

## Try it

```console
$ .venv/bin/python -c 'from loadgen.analysis import transactions; print(transactions.CONSUMED)'
...
    WITH consumed AS (
...
    FROM consumed FULL OUTER JOIN produced USING (tenant, partition, offset) GROUP BY tenant
```
"""
_SUMS_WORDS = """\
The first branch reads requests and what was read back: `of_files` reduces the rows of some files to
sums, and cuts these into parts. The second one reads receipts, and brings them together by log
first. Each row has sums of one part, as a stream of Arrow; `of_parts` merges them."""
_PLAN_NAMES = ("faults", "mixed-tenants", "exactly-once")
_FAULT = FaultRow(0, "f", "rule", 5_000_000, begun_us=5_000_000, ended_us=7_000_000)
_CONFIG = {
    "controller.quota.window.num": 11.0,
    "controller.quota.window.size.seconds": 1.0,
    "producer.id.quota.window.size.seconds": 3600.0,
}


def render(spark: "SparkSession", folder: Path) -> str:
    """Return the page; `folder` is for empty rows."""
    results, read_back, receipts = (
        f"{folder}/{name}" for name in ("results", "read-back", "receipts")
    )
    spark.createDataFrame([], SCHEMA).write.mode("overwrite").parquet(results)
    spark.createDataFrame([], READ_BACK_SCHEMA).write.mode("overwrite").parquet(read_back)
    spark.createDataFrame([], RECEIPTS_SCHEMA).write.mode("overwrite").parquet(receipts)
    target = PreparedTarget(Topology({1: Address("h", 1)}, 1, {}), _CONFIG)
    sections: dict[str, str] = {}
    for name in _PLAN_NAMES:
        plan = load_plan(name)
        faults = [_FAULT] if plan.faults else []
        data = RunData(plan, target, results, read_back, receipts_path=receipts, faults=faults)
        open_views(spark, data, partitions=None)
        for query, sql in queries_of(data).items():
            frame = spark.sql(sql, arguments_of(plan))
            sections[query] = _plan_of(frame, folder)
    sums = RunSums(plan, 1_000_000, {})
    paths = {RESULTS: results, READ_BACK: read_back, RECEIPTS: receipts}
    sources = [source_of(name, Storage(path)) for name, path in paths.items()]
    sections = {"sums": _plan_of(job(spark, sums, sources, 1_000_000), folder), **sections}
    results_of_faults = results_of(spark, folder / "small")
    words_of = {**WORDS, "sums": _SUMS_WORDS}
    text = ""
    for name, plan_text in sections.items():
        words = f"{words_of[name]}\n\n" if name in words_of else ""
        text += f"\n## {name}\n\n{words}```\n{plan_text}\n```\n"
        if name in results_of_faults:
            text += f"\n{RUN_WORDS}\n\n{results_of_faults[name]}\n"
    return _HEAD + text


def _plan_of(frame: "DataFrame", folder: Path) -> str:
    execution = frame._jdf.queryExecution()  # noqa: SLF001
    return _normal(execution.executedPlan().toString(), folder)


def _normal(plan: str, folder: Path) -> str:
    """Return a plan without numbers and paths that change from run to run, and without columns."""
    plan = re.sub(r"#\d+L?", "", plan)
    plan = plan.replace(f"file:{folder}", "file:").replace(str(folder), "")
    plan = re.sub(r"\[plan_id=\d+\]|, plan_id=\d+", "", plan)
    lines = [line.rstrip() for line in plan.strip().splitlines()]
    return "\n".join(line if len(line) <= _LINE_MAX else f"{line[:_LINE_MAX]}..." for line in lines)


_LINE_MAX = 150


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        load_session("local[2]", Path(folder)) as spark,
    ):
        TARGET.write_text(render(spark, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
