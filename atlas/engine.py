"""Run the experiments of a matrix in Spark's tasks, and write their rows."""

import io
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Any

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
from loadgen.storage import Storage
from mock_kafka.control import ControlError
from scenarios.maven import CannotRunError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REPORT = "task int, experiments int, crashed int"
_POLL_S = 1.0


@cache
def _lanes(lanes_per_task: int) -> Lanes:
    """Return the lanes of this process: a worker of Spark keeps them from task to task."""
    return Lanes(lanes_per_task + SPARE_LANES)


def run_matrix(
    tasks: "DataFrame",
    storage: Storage,
    lanes_per_task: int,
    show: Callable[[int], None] | None = None,
) -> int:
    """Run the experiments of `in_tasks`, and return their number.

    `show` is called now and then with how many are written. An experiment that can't be run to its
    end has a row, too, which says why.

    Raises:
        Py4JError: a worker failed; what other tasks have written stays.
    """

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = batch.to_pylist()
            if rows:
                written = run_task(rows, storage, lanes_per_task)
                crashed = sum(row["cell"] == "crashed" for row in written)
                report = {"task": rows[0]["task"], "experiments": len(rows), "crashed": crashed}
                yield pa.RecordBatch.from_pylist([report], _REPORT_SCHEMA)

    storage.create(EXPERIMENTS)
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(storage, ended, show), daemon=True)
    if show is not None:
        watcher.start()
    try:
        reports = tasks.mapInArrow(task, REPORT).collect()
    finally:
        ended.set()
    return sum(report["experiments"] for report in reports)


_REPORT_SCHEMA = pa.schema(
    [("task", pa.int32()), ("experiments", pa.int32()), ("crashed", pa.int32())]
)


def _watch(storage: Storage, ended: threading.Event, show: Callable[[int], None] | None) -> None:
    assert show is not None
    while not ended.wait(_POLL_S):
        names = storage.names(EXPERIMENTS)
        show(sum(count_in(name) for name in names))


def run_task(
    planned: Sequence[Mapping[str, Any]], storage: Storage, lanes_per_task: int
) -> list[dict[str, Any]]:
    """Run experiments in this process, some at the same time; write and return their rows."""
    lanes = _lanes(lanes_per_task)
    with ThreadPoolExecutor(lanes_per_task, "atlas-lane") as pool:
        results = list(pool.map(partial(_run, lanes), planned))
    experiments = [experiment for experiment, _ in results]
    requests = [request for _, seen in results for request in seen]
    name = TASK_FILE.format(planned[0]["experiment_id"], len(planned))
    # The requests first: an experiment that is there has all of its rows.
    storage.write(_parquet(requests, REQUEST_SCHEMA), REQUESTS, name)
    storage.write(_parquet(experiments, EXPERIMENT_SCHEMA), EXPERIMENTS, name)
    return experiments


def _run(lanes: Lanes, planned: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    experiment_id, started_ms = planned["experiment_id"], clock.wall_ms()
    situation = load_situation(planned["situation"])
    experiment = Experiment(planned["client"], situation, planned["seed"])
    try:
        with lanes.lane(planned["client"]) as lane:
            result = lane.run(experiment)
    except (AdapterError, CannotRunError, ControlError) as error:
        return crashed_row(planned, f"{type(error).__name__}: {error}", started_ms), []
    row = experiment_row(experiment_id, result)
    return row, list(request_rows(experiment_id, result.observation))


def _parquet(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> bytes:
    buffer = io.BytesIO()
    table = pa.Table.from_pylist(list(rows), schema)
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()
