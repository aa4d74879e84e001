"""Segments that are read while they are written: the figures are those of the summary."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loadgen.analysis.summary import RunData, summarise
from loadgen.live import segment_reader
from loadgen.live.batch_sums import BatchSums
from loadgen.live.figures import Batch, LiveFigures
from loadgen.live.segment_reader import SegmentReader
from loadgen.storage import Storage
from loadgen.worker.segments import segment_name
from tests.loadgen.live.made_batches import SECOND, TARGET
from tests.loadgen.live.made_rows import PLAN, SEGMENTS, Row, row, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Taken:
    """What a reader has found, and an event for each time."""

    def __init__(self, folder: Path) -> None:
        self.batches: list[Batch] = []
        self.failures: list[str] = []
        self.has_more = threading.Event()
        self.reader = SegmentReader(
            Storage(str(folder)), (), 2, BatchSums(PLAN, TARGET), self._take, self.failures.append
        )

    def _take(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.has_more.set()

    def wait(self) -> None:
        assert self.has_more.wait(30)
        self.has_more.clear()

    def requests(self) -> list[int]:
        return [sum(row["requests"] for row in batch.requests) for batch in self.batches]


@pytest.mark.long
def test_the_figures_of_all_segments_are_those_of_the_summary(
    spark: "SparkSession", tmp_path: Path
) -> None:
    taken = Taken(tmp_path)
    with taken.reader as reader:
        for number, rows in enumerate(SEGMENTS):
            write(tmp_path, 0, number, rows)
        reader.finish()
    assert taken.failures == []
    figures = LiveFigures(PLAN, TARGET)
    for batch in taken.batches:
        figures.take(batch)
    figures.end(5 * SECOND)
    live = figures.as_dict()
    summary = summarise(spark, RunData(PLAN, TARGET, str(tmp_path), None)).summary
    for name, count in live["totals"].items():
        assert count == summary["totals"][name], name
    assert live["responses_per_s"] == summary["responses_per_s"]
    assert live["throttles"] == summary["throttles"]
    # The summary says more of each second.
    seconds = live["series"]["seconds"]
    assert seconds == [{name: s[name] for name in seconds[0]} for s in summary["series"]["seconds"]]
    requests = {
        tuple(r[n] for n in ("tenant", "api", "status", "kind", "error", "requests"))
        for r in summary["requests"]
    }
    assert {tuple(r.values()) for r in live["requests"]} == requests
    check_latencies(live, summary)
    assert [{**verdict, "is_provisional": True} for verdict in summary["verdicts"]] == live[
        "verdicts"
    ]
    words = {verdict["verdict"] for verdict in live["verdicts"]}
    assert words == {"passed", "failed"}


def check_latencies(live: Row, summary: Row) -> None:
    """Percentiles are exact to half a percent, counts and maxima exactly."""
    for mine, expected in zip(live["tenants"], summary["tenants"], strict=False):
        for name in ("tenant", "events", "completed"):
            assert mine[name] == expected[name]
        assert mine["response_us"] == pytest.approx(expected["response_us"], rel=0.01)
        assert mine["response_max_us"] == pytest.approx(expected["response_max_us"], rel=0.01)
    assert [(r["second"], r["tenant"]) for r in live["series"]["latencies"]] == [
        (r["second"], r["tenant"]) for r in summary["series"]["latencies"]
    ]
    for mine, expected in zip(
        live["series"]["latencies"], summary["series"]["latencies"], strict=True
    ):
        assert mine["response_us"] == pytest.approx(expected["response_us"], rel=0.01)


def test_segments_are_read_as_they_appear_and_each_of_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_reader, "INTERVAL_S", 0.01)
    taken = Taken(tmp_path / "run")  # which a worker creates with its first segment
    with taken.reader as reader:
        (tmp_path / "run").mkdir()
        write(tmp_path / "run", 0, 0, [row(1), row(2)])
        taken.wait()
        write(tmp_path / "run", 1, 0, [row(3)])
        taken.wait()
        (tmp_path / "run" / "_part-00000-000001.parquet.incomplete").write_bytes(b"PAR1")
        reader.finish()
        write(tmp_path / "run", 0, 1, [row(4)])
    assert taken.requests() == [2, 1]
    assert taken.failures == []


def test_all_that_is_left_is_read_in_batches_of_a_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_reader, "ROWS_MAX", 100)
    for number in range(4):
        write(tmp_path, 0, number, [row(event) for event in range(60)])
    write(tmp_path, 1, 0, [row(event) for event in range(230)])
    taken = Taken(tmp_path)
    with taken.reader as reader:
        reader.finish()
    assert sum(taken.requests()) == 4 * 60 + 230
    assert max(taken.requests()) < 200


def test_a_segment_that_cannot_be_read_is_one_line_and_ends_the_figures(tmp_path: Path) -> None:
    (tmp_path / segment_name(0, 0)).write_bytes(b"no Parquet at all")
    write(tmp_path, 1, 0, SEGMENTS[0])
    taken = Taken(tmp_path)
    with taken.reader as reader:
        reader.finish()
    assert taken.batches == []
    [line] = taken.failures
    assert line == reader.failure
    assert "\n" not in line


def test_a_storage_that_hangs_is_one_line_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over = threading.Event()

    def hang(*_: Any) -> list[str]:
        is_over.wait(30)
        return []

    monkeypatch.setattr(Storage, "existing", hang)
    monkeypatch.setattr(segment_reader, "FINISH_TIMEOUT_S", 0.01)
    taken = Taken(tmp_path)
    with taken.reader as reader:
        reader.finish()
    is_over.set()
    assert taken.failures == ["the rows were not read within 0.01 s"]
