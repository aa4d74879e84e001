"""The Spark job of a load: write the schedule, send the load, write the results."""

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
    """Write the schedule, send the load once, and write the results, in folders `run=ID` of `out`.

    The schedule is written before the load starts: computing it must not slow down the workers.
    Nothing is lazy: a result that Spark evaluated twice would send the load twice.

    Raises:
        Py4JError: a worker failed; no results are left.
    """
    from pyspark.sql import functions as F  # noqa: PLC0415 - the usual name; slow to import

    workers = spec.workers
    schedule_path = f"{out}/schedule/run={spec.run_id}"
    schedule(spark, spec.plan, workers).write.parquet(schedule_path)
    placed = (
        spark.read.parquet(schedule_path)
        .repartitionById(workers, F.expr(f"client % {workers}"))
        .sortWithinPartitions("t_us", "event_id")
    )

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import BarrierTaskContext  # noqa: PLC0415 - exists only inside a task

        context = BarrierTaskContext.get()
        yield from work(spec, context.partitionId(), batches, context.allGather)

    results = placed.mapInArrow(task, rows.SCHEMA, barrier=True)
    results.write.parquet(f"{out}/results/run={spec.run_id}")
