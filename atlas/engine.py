"""Run the experiments of a matrix in Spark's tasks, and write their rows."""

import io
import platform
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from atlas.adapter_process import AdapterError
from atlas.experiment import Experiment
from atlas.lanes import SPARE_LANES, Lanes
from atlas.rows import (
    EXPERIMENT_SCHEMA,
    EXPERIMENTS,
    REQUEST_SCHEMA,
    REQUESTS,
    TASK_FILE,
    count_in,
    crashed_row,
    experiment_row,
    request_rows,
)
from atlas.situation import load_situation
from client import clock
from loadgen.storage import Storage, StorageError
from mock_kafka import StartError
from mock_kafka.control import ControlError
from scenarios.maven import CannotRunError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REPORT = "task int, experiments int, failures array<string>"
_POLL_S = 1.0
Row = dict[str, Any]


@cache
def _lanes(lanes_per_task: int) -> Lanes:
    """Return the lanes of this process: a worker of Spark keeps them from task to task."""
    return Lanes(lanes_per_task + SPARE_LANES)


class TaskResult(NamedTuple):
    """How many experiments of a task have rows, and why others have none: one line each."""

    experiments: int
    failures: list[str]


def run_matrix(
    tasks: "DataFrame",
    storage: Storage,
    lanes_per_task: int,
    show: Callable[[int], None] | None = None,
) -> TaskResult:
    """Run the experiments of `in_tasks`, and return how many there were and what could not be run.

    `show` is called now and then with how many are written. An experiment whose adapter or cluster
    ended has a row, too, which says why. One whose client can't run on an executor has none.

    Raises:
        Py4JError: a worker failed again and again; what other tasks have written stays.
        StorageError: the executors have written somewhere else.
    """

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = batch.to_pylist()
            if rows:
                result = run_task(rows, storage, lanes_per_task)
                report = {"task": rows[0]["task"], **result._asdict()}
                yield pa.RecordBatch.from_pylist([report], _REPORT_SCHEMA)

    storage.create(EXPERIMENTS)
    before = _written(storage)
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(storage, ended, show), daemon=True)
    if show is not None:
        watcher.start()
    try:
        reports = tasks.mapInArrow(task, REPORT).collect()
    finally:
        ended.set()
    count = sum(report["experiments"] for report in reports)
    if _written(storage) - before < count:
        raise StorageError(f"the executors see another {storage.url}: it must be a shared folder")
    return TaskResult(count, [why for report in reports for why in report["failures"]])


_REPORT_SCHEMA = pa.schema(
    [("task", pa.int32()), ("experiments", pa.int32()), ("failures", pa.list_(pa.string()))]
)


def _written(storage: Storage) -> int:
    return sum(map(count_in, storage.names(EXPERIMENTS)))


def _watch(storage: Storage, ended: threading.Event, show: Callable[[int], None] | None) -> None:
    assert show is not None
    while not ended.wait(_POLL_S):
        show(_written(storage))


def run_task(
    planned: Sequence[Mapping[str, Any]], storage: Storage, lanes_per_task: int
) -> TaskResult:
    """Run experiments in this process, some at the same time, and write their rows.

    Spark runs a task again whose worker was lost. If that had written its rows, nothing is run.
    """
    name = TASK_FILE.format(planned[0]["experiment_id"], len(planned))
    if storage.has(EXPERIMENTS, name):
        return TaskResult(len(planned), [])
    lanes = _lanes(lanes_per_task)
    with ThreadPoolExecutor(lanes_per_task, "atlas-lane") as pool:
        results = list(pool.map(partial(_run, lanes), planned))
    rows = [result for result in results if not isinstance(result, str)]
    failures = [result for result in results if isinstance(result, str)]
    if rows:
        experiments = [experiment for experiment, _ in rows]
        name = TASK_FILE.format(experiments[0]["experiment_id"], len(rows))
        requests = [request for _, seen in rows for request in seen]
        # The requests first: an experiment that is there has all of its rows.
        storage.write(_parquet(requests, REQUEST_SCHEMA), REQUESTS, name)
        storage.write(_parquet(experiments, EXPERIMENT_SCHEMA), EXPERIMENTS, name)
    return TaskResult(len(rows), failures)


def _run(lanes: Lanes, planned: Mapping[str, Any]) -> tuple[Row, list[Row]] | str:
    """Return the rows of an experiment, or why it can't be run on this machine."""
    experiment_id, started_ms = planned["experiment_id"], clock.wall_ms()
    situation = load_situation(planned["situation"])
    experiment = Experiment(planned["client"], situation, planned["seed"])
    try:
        with lanes.lane(planned["client"]) as lane:
            result = lane.run(experiment)
    except (CannotRunError, StartError) as error:
        return f"{planned['client']} can't run on {platform.node()}: {error}"
    except (AdapterError, ControlError) as error:
        return crashed_row(planned, f"{type(error).__name__}: {error}", started_ms), []
    row = experiment_row(experiment_id, result)
    return row, list(request_rows(experiment_id, result.observation))


def _parquet(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> bytes:
    buffer = io.BytesIO()
    table = pa.Table.from_pylist(list(rows), schema)
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()
