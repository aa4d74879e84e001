"""Workers report how they ended; those that do not are named."""

from pathlib import Path

from loadgen.storage import Storage
from loadgen.worker_reports import (
    ENDED,
    GAVE_UP,
    STARTED,
    WorkerReport,
    ended_us,
    missing_in,
    read_reports,
    reasons_in,
    rows_in,
    summary_of,
    write_reports,
)

FOLDER = ("workers", "run=r")


def test_reports_are_read_as_they_were_written(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    started = WorkerReport(0, STARTED, "here", memory_max_bytes=5_000_000)
    gave_up = WorkerReport(0, GAVE_UP, "here", reason="too slow", t_us=7)
    ended = WorkerReport(0, ENDED, "here", t_us=8, rows=3, clock_offset_us=-4)
    write_reports(storage, FOLDER, [started])
    write_reports(storage, FOLDER, [gave_up, ended])
    assert read_reports(storage, FOLDER) == [gave_up, ended, started]
    assert read_reports(storage, ("workers", "run=other")) == []


def test_the_reasons_and_the_end_are_those_of_all_workers() -> None:
    reports = [
        WorkerReport(0, GAVE_UP, reason="x"),
        WorkerReport(1, GAVE_UP, reason="x"),
        WorkerReport(1, GAVE_UP, reason="y"),
        WorkerReport(0, ENDED, t_us=5),
        WorkerReport(1, ENDED, t_us=9),
    ]
    assert reasons_in(reports) == ["x", "y"]
    assert ended_us(reports) == 9
    assert ended_us([]) is None


def test_a_worker_without_a_last_report_is_named() -> None:
    reports = [
        WorkerReport(0, STARTED, "h0"),
        WorkerReport(1, STARTED, "h1", memory_max_bytes=3_000_000),
        WorkerReport(0, ENDED, "h0"),
    ]
    assert missing_in(reports, 3) == [
        "worker 1 on h1 was killed: the rows of its last seconds are missing",
        "worker 2 never started: it has no rows",
    ]
    assert rows_in(reports, 3) is None
    found = summary_of(reports)
    assert [found[worker]["has_ended"] for worker in (0, 1)] == [True, False]
    assert found[1]["memory_max_mb"] == 3


def test_the_rows_of_a_run_are_those_of_all_workers() -> None:
    reports = [
        WorkerReport(0, STARTED),
        WorkerReport(0, GAVE_UP, rows=2, reason="x"),
        WorkerReport(0, ENDED, rows=2),
        WorkerReport(1, ENDED, rows=3),
    ]
    assert rows_in(reports, 2) == 5
