"""The Spark job: schedule, load, results. Each load runs once, by one write.

`run_load` returns nothing lazy: who looks at results reads what was written. As a program it is
what `spark-submit` takes; docs/load.md has the line.
"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from loadgen import rows
from loadgen.plan.run_spec import RunSpec
from loadgen.plan.schedule import schedule
from loadgen.worker.worker import work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_load(spark: "SparkSession", spec: RunSpec, out: str) -> None:
    """Write the schedule, then send it, then write the results; folders `run=ID` below `out`.

    The schedule is written first so that making it is no part of the load, and as evidence.

    Raises:
        Py4JError: a worker failed; nothing of its results is left.
    """
    from pyspark.sql import functions as F  # noqa: PLC0415 - as everybody calls it; slow

    workers = spec.workers
    schedule_path = f"{out}/schedule/run={spec.run_id}"
    schedule(spark, spec.plan, workers).write.parquet(schedule_path)
    placed = (
        spark.read.parquet(schedule_path)
        .repartitionById(workers, F.expr(f"client % {workers}"))
        .sortWithinPartitions("t_us", "event_id")
    )

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import BarrierTaskContext  # noqa: PLC0415 - there is none outside of a task

        context = BarrierTaskContext.get()
        yield from work(spec, context.partitionId(), batches, context.allGather)

    results = placed.mapInArrow(task, rows.SCHEMA, barrier=True)
    results.write.parquet(f"{out}/results/run={spec.run_id}")


if __name__ == "__main__":
    from loadgen.cli import main_of_job

    sys.exit(main_of_job(sys.argv[1:]))
