"""A run is summarised again from its files."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loadgen import summarize
from loadgen.plan.run_spec import RunSpec
from loadgen.preparation import prepare
from loadgen.run_record import UNFINISHED, RunRecord
from loadgen.storage import Storage, StorageError
from loadgen.worker.worker import work
from tests.loadgen.runs import events_of, plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_run_whose_driver_and_one_worker_died_is_summarised_and_names_what_is_missing(
    spark: "SparkSession", servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of("[{name: a, behaviour: steady, topic: t, clients: 4, rate: 200}]")
    found = prepare(plan, "p-1", servers, sets_quotas=False)
    storage = Storage(str(tmp_path))
    RunRecord("p-1", plan, found, servers, "local[2]", "2026-01-02 03:04:05 UTC", 2).write(storage)
    spec = RunSpec("p-1", plan, found.topology, workers=2, lead_s=0.05)
    [events] = events_of(plan)
    mine = events.filter([client % 2 == 0 for client in events.column("client").to_pylist()])
    work(spec, storage, 0, iter([mine]), lambda word: [word])
    # A segment that the other worker was writing when it was killed.
    (tmp_path / "results" / "run=p-1" / "_part-00001-000000.parquet.incomplete").write_bytes(b"x")

    def session(*_arguments: Any) -> Any:
        return nullcontext(spark)

    monkeypatch.setattr(summarize, "load_session", session)
    assert summarize.main([str(tmp_path)]) == 1
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["run_id"] == "p-1"
    assert summary["totals"]["responded"] == mine.num_rows + 2  # two producer ids
    assert summary["missing"] == ["worker 1 never started: it has no rows"]
    assert summary["abort_reasons"] == [UNFINISHED, *summary["missing"]]
    [worker] = summary["workers"]
    assert worker["has_ended"]
    assert worker["memory_max_mb"] > 10
    assert "worker 1 never started" in (tmp_path / "report.html").read_text()


def test_a_folder_without_a_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="has no results of a run"):
        summarize._latest(Storage(str(tmp_path)))
