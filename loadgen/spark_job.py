"""The Spark job of a load: write the schedule, send the load, write the results."""

from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from loadgen.plan.run_spec import RunSpec
from loadgen.plan.schedule import event_counts, schedule, schedule_file
from loadgen.rows import RESULTS
from loadgen.storage import Storage
from loadgen.worker.worker import work
from loadgen.worker_reports import SCHEMA as REPORT_SCHEMA
from loadgen.worker_reports import WorkerReport, batch_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS_HERE_MAX = 1_000_000
"""A schedule of so many events is computed by the driver: a job would take longer to start."""
EVENTS_PER_TASK = 2_000_000
"""40 MB of Parquet."""
SCHEDULE_FILE = "part-0.parquet"
"""The name of a schedule that is one file."""


def run_load(spark: "SparkSession", spec: RunSpec, storage: Storage) -> list[WorkerReport]:
    """Write the schedule and send the load once; the workers write the results.

    All of them are in folders `run=ID` of the storage. The schedule is written before the load
    starts: computing it must not slow down the workers. Nothing is lazy: a result that Spark
    evaluated twice would send the load twice.

    Returns:
        The reports of all workers.

    Raises:
        Py4JError: a worker failed; what was written until then is left.
    """
    from pyspark.sql import functions as F  # noqa: PLC0415 - the usual name; slow to import

    workers = spec.workers
    schedule_path = storage.of(*spec.folder("schedule"))
    storage.create(*spec.folder(RESULTS))
    if spec.plan.events_file is not None:
        content = Path(spec.plan.events_file).read_bytes()
        storage.write(content, *spec.folder("schedule"), SCHEDULE_FILE)
    elif sum(event_counts(spec.plan)) <= EVENTS_HERE_MAX:
        storage.write(schedule_file(spec.plan), *spec.folder("schedule"), SCHEDULE_FILE)
    else:
        schedule(spark, spec.plan, _partitions(spec)).write.parquet(schedule_path)
    placed = (
        spark.read.parquet(schedule_path)
        .repartitionById(workers, F.expr(f"client % {workers}"))
        .sortWithinPartitions("t_us", "event_id")
    )

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import BarrierTaskContext  # noqa: PLC0415 - exists only inside a task

        context = BarrierTaskContext.get()
        yield batch_of(work(spec, storage, context.partitionId(), batches, context.allGather))

    reports = placed.mapInArrow(task, REPORT_SCHEMA, barrier=True)
    return [WorkerReport(**row.asDict()) for row in reports.collect()]


def _partitions(spec: RunSpec) -> int:
    """Return the number of tasks that compute the schedule, from its size."""
    return max(spec.workers, ceil(sum(event_counts(spec.plan)) / EVENTS_PER_TASK))
