"""The Spark job of a load: write the schedule, send the load, write the results."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from loadgen.meeting_place import meet
from loadgen.plan import schedule
from loadgen.plan.run_spec import RunSpec
from loadgen.plan.schedule import event_counts
from loadgen.rows import RESULTS
from loadgen.spark_connect import is_connected
from loadgen.storage import Storage
from loadgen.worker.worker import Gather, work
from loadgen.worker_reports import SCHEMA as REPORT_SCHEMA
from loadgen.worker_reports import WorkerReport, batch_of

if TYPE_CHECKING:
    from pyspark import BarrierTaskContext
    from pyspark.sql import DataFrame, SparkSession

EVENTS_HERE_MAX = 1_000_000
"""A schedule of so many events is computed by the driver: a job would take longer to start."""
EVENTS_PER_TASK = 2_000_000
"""40 MB of Parquet."""
EVENTS_PER_BATCH = 10_000
"""As Spark does it."""
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
    storage.create(*spec.folder(RESULTS))
    events = _events_of_driver(spec)
    if events is None:
        return _run_with_schedule_of_spark(spark, spec, storage)
    for worker, mine in enumerate(schedule.by_worker(events, spec.workers)):
        storage.write(schedule.file_of(mine), *spec.folder("schedule"), _schedule_of(worker))

    def task(_numbers: Iterable[object]) -> Iterator[WorkerReport]:
        from pyspark import BarrierTaskContext  # noqa: PLC0415 - exists only inside a task

        context = BarrierTaskContext.get()
        worker = context.partitionId()
        mine = read_schedule(storage, *spec.folder("schedule"), _schedule_of(worker))
        yield from work(spec, storage, worker, mine, _gather_of(spec, context))

    if is_connected(spark):  # which has no RDDs
        workers = spark.range(0, spec.workers, 1, spec.workers)
        return _reports_of(workers, lambda batches: iter([batch_of(list(task(batches)))]))
    # There are no rows: a query would only keep the workers waiting while Spark plans it.
    numbers = spark.sparkContext.parallelize(range(spec.workers), spec.workers)
    return numbers.barrier().mapPartitions(task).collect()


def _reports_of(
    frame: "DataFrame", task: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
) -> list[WorkerReport]:
    """Run a task for each partition, all at the same time, and return the reports of all."""
    reports = frame.mapInArrow(task, REPORT_SCHEMA, barrier=True).collect()
    return [WorkerReport(**row.asDict()) for row in reports]


def _gather_of(spec: RunSpec, context: "BarrierTaskContext") -> Gather:
    if spec.meeting_address is None:
        return context.allGather
    return partial(meet, spec.meeting_address, spec.workers)


def _events_of_driver(spec: RunSpec) -> pa.Table | None:
    """Return all events; None if there are too many for the driver."""
    if spec.plan.events_file is not None:
        file = pq.ParquetFile(spec.plan.events_file)
        return file.read() if file.metadata.num_rows <= EVENTS_HERE_MAX else None
    return schedule.all_events(spec.plan) if _count(spec) <= EVENTS_HERE_MAX else None


def _count(spec: RunSpec) -> int:
    return sum(event_counts(spec.plan))


def _schedule_of(worker: int) -> str:
    return f"part-{worker:05}.parquet"


def read_schedule(storage: Storage, *names: str) -> Iterator[pa.RecordBatch]:
    """Yield the events of a file, some of them at a time.

    Raises:
        StorageError: it cannot be read.
    """
    file = pq.ParquetFile(pa.BufferReader(storage.read(*names)))
    yield from file.iter_batches(EVENTS_PER_BATCH)


def _run_with_schedule_of_spark(
    spark: "SparkSession", spec: RunSpec, storage: Storage
) -> list[WorkerReport]:
    """Do what `run_load` does for any number of events."""
    from pyspark.sql import functions as F  # noqa: PLC0415 - the usual name; slow to import

    workers = spec.workers
    path = storage.of(*spec.folder("schedule"))
    if spec.plan.events_file is not None:
        content = Path(spec.plan.events_file).read_bytes()
        storage.write(content, *spec.folder("schedule"), SCHEDULE_FILE)
    else:
        schedule.schedule(spark, spec.plan, _partitions(spec)).write.parquet(path)
    placed = (
        spark.read.schema(schedule.SCHEMA)
        .parquet(path)
        .repartitionById(workers, F.expr(f"client % {workers}"))
        .sortWithinPartitions("t_us", "event_id")
    )

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import BarrierTaskContext  # noqa: PLC0415 - exists only inside a task

        context = BarrierTaskContext.get()
        gather = _gather_of(spec, context)
        yield batch_of(work(spec, storage, context.partitionId(), batches, gather))

    return _reports_of(placed, task)


def _partitions(spec: RunSpec) -> int:
    """Return the number of tasks that compute the schedule, from its size."""
    return max(spec.workers, ceil(_count(spec) / EVENTS_PER_TASK))
