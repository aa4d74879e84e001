"""Rows are written in segments, which appear when they are complete."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from loadgen import clock
from loadgen.plan.plan import Tenant
from loadgen.receipts import Receipt, Receipts
from loadgen.row_encoder import RowEncoder
from loadgen.rows import Rows
from loadgen.storage import Storage
from loadgen.worker.segments import STOP_FILE, SegmentWriter
from tests.loadgen.runs import written_rows

FOLDER = ("results", "run=r")


def writer_of(
    rows: Rows, path: Path, receipts: tuple[Receipts, tuple[str, ...]] | None = None
) -> SegmentWriter:
    storage = Storage(str(path))
    storage.create(*FOLDER)
    encoder = RowEncoder(2, 0, [Tenant("a", "steady", "a")], [0])
    return SegmentWriter(rows, encoder, storage, FOLDER, 2, 1, receipts)


def add(rows: Rows, number: int) -> int:
    return rows.begin(
        event_id=number, intended_us=0, submitted_us=0, sent_us=0, client=0, api=0, version=9
    )


def test_a_segment_ends_when_it_is_old_enough_and_has_several_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_us = [0]
    monkeypatch.setattr(clock, "now_us", lambda: now_us[0])
    rows = Rows(chunk_rows=4)
    rows.end(add(rows, 0), 5, 0)  # before the start
    writer = writer_of(rows, tmp_path)
    writer.start()
    slow = add(rows, 1)
    for number in range(2, 11):
        rows.end(add(rows, number), 5, 0)
    writer.tick()
    now_us[0] += 1_000_000
    writer.tick()
    rows.end(slow, 6, 0)
    add(rows, 11)
    writer.close()
    names = sorted(path.name for path in tmp_path.joinpath(*FOLDER).iterdir())
    assert names == ["part-00002-000000.parquet", "part-00002-000001.parquet"]
    assert writer.segments == 2
    first = pq.read_table(tmp_path.joinpath(*FOLDER, names[0]), partitioning=None)
    assert sorted(first["event_id"].to_pylist()) == [0, *range(2, 11)]
    found = written_rows(tmp_path).to_pylist()
    assert sorted(row["event_id"] for row in found) == list(range(12))
    assert {row["worker"] for row in found} == {2}
    assert [row["status"] for row in found if row["event_id"] in {1, 11}] == [
        "responded",
        "no_response",
    ]


def test_a_folder_that_can_not_be_written_is_one_line_and_later_rows_do_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested_names: list[object] = []
    monkeypatch.setattr(Storage, "has", lambda *names: requested_names.append(names))
    rows = Rows(chunk_rows=2)
    writer = writer_of(rows, tmp_path)
    tmp_path.joinpath(*FOLDER).rmdir()
    writer.start()
    for number in range(200):
        rows.end(add(rows, number), 5, 0)
    writer.close()
    assert writer.error is not None
    assert writer.error.startswith("worker 2 cannot write its results: ")
    assert "\n" not in writer.error
    assert writer.segments == 0
    assert requested_names == []  # each answer of a file system that is gone takes seconds


def test_a_file_stops_the_workers(tmp_path: Path) -> None:
    rows = Rows()
    writer = writer_of(rows, tmp_path)
    tmp_path.joinpath(*FOLDER, STOP_FILE).touch()
    assert not writer.is_stopping
    writer.start()
    rows.end(add(rows, 1), 5, 0)
    writer.close()
    assert writer.is_stopping


def test_receipts_are_written_at_the_end_of_a_segment_also_without_rows(tmp_path: Path) -> None:
    receipts, folder = Receipts(), ("receipts", "run=r")
    rows = Rows()
    writer = writer_of(rows, tmp_path, (receipts, folder))
    Storage(str(tmp_path)).create(*folder)
    writer.start()
    receipts.add(Receipt(0, "a", "t", 1, 70, 5, 8, 9))
    writer.tick()  # nothing is due
    receipts.add(Receipt(0, "a", "t", 1, 90, 8, 9, 9))
    writer.close()
    [file] = tmp_path.joinpath(*folder).iterdir()
    assert file.name == "part-00002-000000.parquet"
    found = pq.read_table(file, partitioning=None).to_pylist()
    assert [(row["worker"], row["received_us"], row["next_offset"]) for row in found] == [
        (2, 70, 8), (2, 90, 9),
    ]  # fmt: skip
    assert writer.segments == 0
