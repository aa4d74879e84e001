"""Runs with Spark, from the command line to the report."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from loadgen import load_run, terminal
from loadgen.analysis import read_back
from loadgen.analysis import summary as summaries
from loadgen.analysis.checks import THIS_RUN
from loadgen.live.live_run import LiveRun
from loadgen.options import parser_of
from loadgen.outputs import exit_status
from loadgen.plan.run_spec import STOPPED_BY_USER
from loadgen.progress import Progress
from loadgen.run_record import run_ids
from loadgen.storage import Storage, StorageError
from loadgen.worker_reports import read_reports
from mock_kafka import MockKafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


REPOSITORY = Path(__file__).parents[2]
DOCUMENT = REPOSITORY / "docs" / "load.md"


def own_broker(brokers: int, config: dict[str, str], _has_admin_port: bool, /) -> MockKafka:
    return MockKafka(brokers, config)


def run(spark: "SparkSession", out: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    options = parser_of("test").parse_args([*arguments, "--out", str(out)])
    status = load_run.run(options, lambda: nullcontext(spark), own_broker)
    return status, json.loads((out / "summary.json").read_text())


def test_a_plan_runs_and_writes_its_report(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, summary = run(spark, tmp_path, "producer-churn", "--duration", "1")
    verdicts = {(verdict["scope"], verdict["verdict"]) for verdict in summary["verdicts"]}
    assert status == exit_status(summary), verdicts
    assert status in {0, 3}, verdicts  # 3: the load generator was late on a busy machine
    assert ("user wasteful at broker 1", "passed") in verdicts
    assert ("tenant well-behaved", "passed") in verdicts
    assert summary["is_complete"]
    assert summary["host"]["broker_percent"] > 0
    page = (tmp_path / "report.html").read_text()
    assert "producer-churn" in page
    assert {path.name for path in (tmp_path / "charts").iterdir()} >= {"ids.svg", "rates.svg"}
    assert "report: " in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "results").iterdir()] == [f"run={summary['run_id']}"]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return a list that gets what each live page shows when all rows have been read."""
    contents: list[dict[str, Any]] = []
    read_all = LiveRun.read_all

    def read_all_and_keep(live: LiveRun) -> None:
        read_all(live)
        with urlopen(f"{live.url}live.json", timeout=10) as response:
            contents.append(json.load(response))

    monkeypatch.setattr(LiveRun, "read_all", read_all_and_keep)
    return contents


@pytest.mark.long
def test_the_figures_of_the_live_page_are_those_of_the_summary(
    spark: "SparkSession",
    tmp_path: Path,
    shown: list[dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = "producer-churn"
    _, summary = run(spark, tmp_path, plan, "--duration", "1", "--live-port", "0")
    [content] = shown
    assert (content["state"], content["note"]) == ("read", None)
    live = content["figures"]
    assert summary["workers_count"] == 2
    assert {name: summary["totals"][name] for name in live["totals"]} == live["totals"]
    assert live["responses_per_s"] == summary["responses_per_s"]
    of_live = live["series"]["seconds"]
    of_summary = summary["series"]["seconds"]
    assert of_live == [{name: row[name] for name in of_live[0]} for row in of_summary]
    assert [(row["tenant"], row["events"], row["completed"]) for row in live["tenants"]] == [
        (row["tenant"], row["events"], row["completed"]) for row in summary["tenants"]
    ]
    words = {(row["check"], row["scope"]): row["verdict"] for row in live["verdicts"]}
    for verdict in summary["verdicts"]:
        word = words[verdict["check"], verdict["scope"]]
        assert word == verdict["verdict"] or "stored" in verdict["check"]
    assert re.search(r"live page: http://127\.0\.0\.1:\d+/\n", capsys.readouterr().err)


def test_a_full_disk_at_the_end_is_reported_with_the_figures(
    spark: "SparkSession",
    servers: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def write_nothing(*_: object) -> None:
        raise StorageError("cannot write /x/report.html: No space left on device")

    monkeypatch.setattr(load_run, "write_outputs", write_nothing)
    words = ["steady", "--duration", "1", "--bootstrap-server", servers, "--out", str(tmp_path)]
    options = parser_of("test").parse_args(words)
    status = load_run.run(options, lambda: nullcontext(spark), own_broker)
    assert status == 1
    out = capsys.readouterr().out
    assert "incomplete: cannot write /x/report.html: No space left on device" in out
    assert "acknowledged, 0 missing, 0 stored twice" in out


GROUPS = """\
duration_s: 1
target: {config: {cluster.features: share.version=1, group.initial.rebalance.delay.ms: 0}}
topics: [{name: t, partitions: 4}]
tenants:
  - {name: classic, behaviour: consumer-group, rate: 20, topic: t}
  - {name: consumer, behaviour: consumer-group, group_protocol: consumer, rate: 20, topic: t}
  - {name: share, behaviour: share-group, rate: 20, topic: t}
"""
OTHERS = """\
duration_s: 0.5
topics: [{name: t, partitions: 4}]
tenants:
  - {name: keyed, behaviour: keyed, rate: 40, topic: t, compression: gzip}
  - {name: admin, behaviour: admin, rate: 40, topic: t}
  - {name: storm, behaviour: connection-storm, rate: 40}
"""


@pytest.mark.long
def test_several_plans_run_together_and_events_of_all_behaviours_complete(
    spark: "SparkSession", tmp_path: Path
) -> None:
    (tmp_path / "groups.yaml").write_text(GROUPS)
    (tmp_path / "others.yaml").write_text(OTHERS)
    plans = [str(tmp_path / "groups.yaml"), "--with", str(tmp_path / "others.yaml")]
    status, summary = run(spark, tmp_path, *plans)
    assert status in {0, 3}, summary["verdicts"]  # 3: the load generator was late
    assert summary["plan"] == "groups-with-others"
    events = {row["tenant"]: (row["events"], row["completed"]) for row in summary["tenants"]}
    # Where the machine is busy a share group has not read its last records when the load ends.
    share_events, share_completed = events.pop("share")
    assert share_events == 20
    assert share_completed > 10
    tenants = ("admin", "classic", "consumer", "keyed", "storm")
    assert events == dict.fromkeys(tenants, (20, 20))
    assert {verdict["scope"] for verdict in summary["verdicts"]} == {"tenant keyed", "this run"}


def interrupting(module: Any, name: str, patch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C as soon as a function of a module is called."""
    real = getattr(module, name)

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    patch.setattr(module, name, interrupted)


def test_the_plan_of_the_documentation_runs_and_ctrl_c_does_not_interrupt_its_summary(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, *_ = re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    plan = tmp_path / "my-plan.yaml"
    plan.write_text(text.replace("warm_up_s: 5", "warm_up_s: 0.1"))
    interrupting(summaries, "summarise", monkeypatch)
    status, summary = run(spark, tmp_path / "out", str(plan), "--duration", "1")
    assert summary["is_complete"]
    verdicts = {v["scope"]: v["verdict"] for v in summary["verdicts"] if v["scope"] != THIS_RUN}
    assert verdicts == {"tenant shop": "passed", "tenant greedy": "passed"}
    assert status == exit_status(summary)
    assert status in {0, 3}
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.long
def test_ctrl_c_during_the_read_back_skips_it_and_writes_the_report(
    spark: "SparkSession", servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "duration_s: 0.2\ntopics: [{name: unread}]\n"
        "tenants: [{name: a, behaviour: steady, topic: unread, rate: 50}]\n"
    )

    def read_slowly(*_arguments: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        spark.range(10**15).selectExpr("max(id % 7)").collect()

    monkeypatch.setattr(read_back, "read_back", read_slowly)
    status, summary = run(spark, tmp_path, str(plan), "--bootstrap-server", servers)
    assert status == 1
    assert summary["abort_reasons"] == [STOPPED_BY_USER]
    assert summary["totals"]["responded"] > 5
    assert (tmp_path / "report.html").exists()


@pytest.mark.long
@pytest.mark.spark
def test_the_workers_of_a_load_run_without_uvloop(tmp_path: Path) -> None:
    if find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("a load needs java and the extra spark; one is not here")
    (tmp_path / "uvloop.py").write_text(
        "import os\n"
        f"open({str(tmp_path / 'processes')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "raise ImportError('hidden by a test')\n"
    )
    program = "import sys; from mock_kafka.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "load", "steady", "--duration", "1", "--out", "out"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(REPOSITORY)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode in {0, 3}, done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["is_complete"]
    assert summary["totals"]["errors"] == 0
    assert len(set((tmp_path / "processes").read_text().split())) == 2


def run_until(
    spark: "SparkSession",
    out: Path,
    servers: str,
    end: Callable[[], object],
    topic: str = "t",
    can_end: Callable[[], bool] = lambda: True,
    more: tuple[str, ...] = (),
) -> tuple[int, dict[str, Any]]:
    """Start a load of ten minutes; call `end` once some batches are stored and `can_end` agrees."""
    plan = out / "plan.yaml"
    plan.write_text(
        f"duration_s: 600\nabort_unreachable_s: 3\nrecord: [results]\n"
        f"topics: [{{name: {topic}, partitions: 1}}]\n"
        f"tenants: [{{name: a, behaviour: steady, topic: {topic}, clients: 4, rate: 50}}]\n"
    )
    ends = iter([end])

    def show(progress: Progress) -> None:
        if progress.total("done") > 20 and can_end():
            next(ends, bool)()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal, "progress_bar", lambda *_: nullcontext(show))
        return run(spark, out, str(plan), "--bootstrap-server", servers, *more)


@pytest.mark.long
def test_a_target_that_stops_aborts_the_run_and_keeps_its_results(
    spark: "SparkSession", tmp_path: Path, shown: list[dict[str, Any]]
) -> None:
    kafka = MockKafka().start()
    servers, live = kafka.bootstrap_servers, ("--live-port", "0")
    try:
        status, summary = run_until(spark, tmp_path, servers, kafka.stop, more=live)
    finally:
        kafka.stop()
    assert status == 1
    assert not summary["is_complete"]
    assert any("cannot connect to" in reason for reason in summary["abort_reasons"])
    assert summary["totals"]["responded"] > 20
    assert summary["totals"]["not_due"] > 20_000
    [content] = shown
    totals = content["figures"]["totals"]
    assert totals == {name: summary["totals"][name] for name in totals}
    assert content["figures"]["measured_s"] == summary["measured_s"]
    assert "This run is incomplete." in (tmp_path / "report.html").read_text()


@pytest.mark.long
def test_a_worker_that_is_killed_loses_its_last_seconds_only(
    spark: "SparkSession", servers: str, tmp_path: Path
) -> None:
    storage = Storage(str(tmp_path))

    def kill() -> None:
        [run_id] = run_ids(storage)
        reports = read_reports(storage, ("workers", f"run={run_id}"))
        os.kill(next(report.pid for report in reports if report.worker == 1), signal.SIGKILL)

    def has_segments() -> bool:
        return len(list(tmp_path.glob("results/run=*/part-*"))) >= 4

    status, summary = run_until(spark, tmp_path, servers, kill, "killed", has_segments)
    assert status == 1
    assert any("worker 1 on " in line and "was killed" in line for line in summary["missing"])
    assert summary["totals"]["responded"] > 50
    assert summary["abort_reasons"][0].startswith("the Spark job failed: ")
    assert {worker["worker"] for worker in summary["workers"]} == {0, 1}
    assert "was killed" in (tmp_path / "report.html").read_text()


def test_ctrl_c_stops_the_run_and_keeps_its_results(
    spark: "SparkSession", servers: str, tmp_path: Path
) -> None:
    main_thread = threading.main_thread().ident or 0

    def press() -> None:
        signal.pthread_kill(main_thread, signal.SIGINT)

    status, summary = run_until(spark, tmp_path, servers, press, topic="stopped")
    assert status == 1
    assert summary["abort_reasons"] == [STOPPED_BY_USER]
    assert 20 < summary["totals"]["responded"] < 30_000 - 20_000
    assert summary["totals"]["not_due"] > 20_000
    assert summary["measured_s"] < 400
    # The topics were not read back, and the plan keeps only the results.
    assert not (tmp_path / "read-back").exists()
    assert [path.name for path in (tmp_path / "results").iterdir()] == [f"run={summary['run_id']}"]
    assert list((tmp_path / "schedule").iterdir()) == []
    assert "stopped by the user" in (tmp_path / "report.html").read_text()
