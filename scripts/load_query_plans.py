"""Write docs/load-queries.md: the plan that Spark makes for each query of a load's summary.

python -m scripts.load_query_plans
"""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from client.resources import Address
from loadgen.analysis import queries
from loadgen.analysis.read_back import SCHEMA as READ_BACK_SCHEMA
from loadgen.analysis.summary import (
    LATENCY_BINS,
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
from scripts.fault_query_results import RUN_WORDS, WORDS, results_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET = Path(__file__).parents[1] / "docs" / "load-queries.md"
_HEAD = """\
# The queries of a load's summary

*The plan of Spark for each query of [the summary](load.md#checks), from the leaves up: `python -m
scripts.load_query_plans` writes this page.*

`Exchange` is a shuffle; the window functions and the `DISTINCT`s need one each. Nothing but the
result of a query goes to the driver: one row per tenant, user, second, cell of the heat map, point
of a chart, or bin of a percentile. `latency_bins` is no query: Spark keeps its rows, in memory or
on disk, and the three queries that show an `InMemoryRelation` read them.

## Try it

```console
$ .venv/bin/python -c 'from loadgen.analysis import queries; print(queries.LATENCIES)'
...
    SELECT second, element_at(:tenants, number) AS tenant,
...
    GROUP BY second, number
```
"""
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
        arguments = {**arguments_of(plan), "end_us": 1_000_000, "cell_us": 10_000}
        open_views(spark, data, partitions=None)
        spark.sql(queries.LATENCY_BINS, arguments).createOrReplaceTempView(LATENCY_BINS)
        for query, sql in {LATENCY_BINS: queries.LATENCY_BINS, **queries_of(data)}.items():
            if query != LATENCY_BINS:
                spark.catalog.cacheTable(LATENCY_BINS)
            execution = spark.sql(sql, arguments)._jdf.queryExecution()  # noqa: SLF001
            sections[query] = _normal(execution.executedPlan().toString(), folder)
        spark.catalog.uncacheTable(LATENCY_BINS)
    results_of_faults = results_of(spark, folder / "small")
    text = ""
    for name, plan_text in sections.items():
        words = f"{WORDS[name]}\n\n" if name in WORDS else ""
        text += f"\n## {name}\n\n{words}```\n{plan_text}\n```\n"
        if name in results_of_faults:
            text += f"\n{RUN_WORDS}\n\n{results_of_faults[name]}\n"
    return _HEAD + text


def _normal(plan: str, folder: Path) -> str:
    """Return a plan without numbers and paths that change from run to run, and without columns."""
    plan = re.sub(r"#\d+L?", "", plan)
    plan = plan.replace(f"file:{folder}", "file:").replace(str(folder), "")
    plan = re.sub(r"\[plan_id=\d+\]|, plan_id=\d+", "", plan)
    lines = [line.rstrip() for line in _without_kept(plan.strip().splitlines())]
    return "\n".join(line if len(line) <= _LINE_MAX else f"{line[:_LINE_MAX]}..." for line in lines)


def _without_kept(lines: list[str]) -> Iterator[str]:
    """Leave out how rows that Spark keeps are computed, which is a section."""
    inside: int | None = None
    for line in lines:
        indentation = len(line) - len(line.lstrip(" :+-"))
        if inside is not None and indentation > inside:
            continue
        inside = indentation if "InMemoryRelation" in line else None
        yield line


_LINE_MAX = 150


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        load_session("local[2]", Path(folder)) as spark,
    ):
        TARGET.write_text(render(spark, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
