"""What each worker reports of itself: that it started, and how it ended.

The reports are Parquet files beside the results. A worker without a last report was killed.
"""

import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from loadgen.storage import Storage

RECORD = "workers"
"""The folder of the reports."""
STARTED, GAVE_UP, ENDED = "started", "gave_up", "ended"
_FIELDS = {
    "worker": pa.int32(),
    "host": pa.string(),
    "pid": pa.int32(),
    "event": pa.string(),
    "reason": pa.string(),
    "t_us": pa.int64(),
    "rows": pa.int64(),
    "segments": pa.int32(),
    "cpu_us": pa.int64(),
    "wall_us": pa.int64(),
    "memory_max_bytes": pa.int64(),
    "clock_offset_us": pa.int64(),
    "clock_error_us": pa.int64(),
}
_SPARK_TYPES = {pa.int32(): "int", pa.int64(): "bigint", pa.string(): "string"}
ARROW_SCHEMA = pa.schema([pa.field(name, kind) for name, kind in _FIELDS.items()])
SCHEMA = ", ".join(f"{name} {_SPARK_TYPES[kind]}" for name, kind in _FIELDS.items())


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """One row of `SCHEMA`."""

    worker: int
    event: str
    """`started`, `gave_up` (with a reason) or `ended`."""
    host: str = ""
    pid: int = 0
    reason: str | None = None
    t_us: int = 0
    """When, from the common time zero."""
    rows: int = 0
    segments: int = 0
    cpu_us: int = 0
    wall_us: int = 0
    memory_max_bytes: int = 0
    """The most memory that the process has used so far."""
    clock_offset_us: int | None = None
    """How far the clock of the host is ahead of the driver's; None if it was not measured."""
    clock_error_us: int | None = None
    """How wrong the offset may be."""


def batch_of(reports: Sequence[WorkerReport]) -> pa.RecordBatch:
    """Return reports as an Arrow batch."""
    return pa.RecordBatch.from_pylist([asdict(report) for report in reports], ARROW_SCHEMA)


def write_reports(
    storage: Storage, folder: tuple[str, ...], reports: Sequence[WorkerReport]
) -> None:
    """Write reports of one worker as one file, which has the name of the last one.

    Raises:
        StorageError: it cannot be written.
    """
    data = BytesIO()
    pq.write_table(pa.Table.from_batches([batch_of(reports)]), data)
    name = f"worker-{reports[-1].worker:05}-{reports[-1].event}.parquet"
    storage.write(data.getvalue(), *folder, name)


def read_reports(storage: Storage, folder: tuple[str, ...]) -> list[WorkerReport]:
    """Return all reports of a run.

    Raises:
        StorageError: they cannot be read.
    """
    found: list[WorkerReport] = []
    for name in storage.names(*folder):
        if not name.startswith(("_", ".")):
            table = pq.read_table(BytesIO(storage.read(*folder, name)))
            found += [WorkerReport(**row) for row in table.to_pylist()]
    return found


def reasons_in(reports: Iterable[WorkerReport]) -> list[str]:
    """Return why workers gave up, without repetitions."""
    return list(dict.fromkeys(r.reason for r in reports if r.event == GAVE_UP and r.reason))


def missing_in(reports: Sequence[WorkerReport], workers: int) -> list[str]:
    """Name what is missing, one line for each worker without a last report."""
    ended = {report.worker for report in reports if report.event == ENDED}
    hosts = {report.worker: report.host for report in reports}
    found = []
    for worker in sorted(set(range(workers)) - ended):
        if worker in hosts:
            found.append(
                f"worker {worker} on {hosts[worker]} was killed: the rows of its last seconds"
                " are missing"
            )
        else:
            found.append(f"worker {worker} never started: it has no rows")
    return found


def rows_in(reports: Sequence[WorkerReport], workers: int) -> int | None:
    """Return how many rows the workers have written; None if one of them was killed."""
    if missing_in(reports, workers):
        return None
    return sum(report.rows for report in reports if report.event == ENDED)


def ended_us(reports: Iterable[WorkerReport]) -> int | None:
    """Return when the last worker ended; None if none did."""
    return max((report.t_us for report in reports if report.event == ENDED), default=None)


def summary_of(reports: Sequence[WorkerReport]) -> dict[int, dict[str, Any]]:
    """Return the figures of each worker for the summary, from its last report."""
    last = {report.worker: report for report in reports if report.event == STARTED}
    last |= {report.worker: report for report in reports if report.event == ENDED}
    return {
        worker: {
            "host": report.host,
            "has_ended": report.event == ENDED,
            "memory_max_mb": round(report.memory_max_bytes / 1e6),
            "clock_offset_us": report.clock_offset_us,
            "clock_error_us": report.clock_error_us,
        }
        for worker, report in last.items()
    }


def host_name() -> str:
    """Return the name of this host."""
    return platform.node()
