"""The rows of faults are the same after they were written and read."""

from pathlib import Path

from loadgen.fault_rows import FaultRow, read_rows, write_rows
from loadgen.storage import Storage

FOLDER = ("faults", "run=r")


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    rows = [
        FaultRow(0, "a", "rule", 1, begun_us=2, ended_us=3, broker_clock_ms=4, rule_id=5, fired=6),
        FaultRow(1, "b", "move_leader", 7, has_end=False, error="no such broker"),
    ]
    write_rows(storage, FOLDER, rows)
    assert read_rows(storage, FOLDER) == rows


def test_a_run_without_faults_has_no_rows(tmp_path: Path) -> None:
    assert read_rows(Storage(str(tmp_path)), FOLDER) == []
