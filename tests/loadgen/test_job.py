"""The job in Spark: every event once; and a run from the command line to the page."""

import json
import signal
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from loadgen import cli
from loadgen.job import run_load
from loadgen.plan import schedule
from loadgen.plan.plan import load_plan
from loadgen.plan.run_spec import STOPPED_BY_USER, RunSpec
from loadgen.preparation import prepare
from loadgen.progress import Standing
from mock_kafka import MockKafka
from tests.loadgen.runs import endings, events_of, of_api, plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_schedule_in_spark_is_the_schedule(spark: "SparkSession") -> None:
    plan = load_plan("mixed-tenants")
    ids = np.arange(sum(schedule.event_counts(plan)), dtype=np.int64)
    wanted = schedule.events(plan, ids).to_pylist()
    for partitions in (1, 3):
        found = [row.asDict() for row in schedule.schedule(spark, plan, partitions).collect()]
        assert sorted(found, key=lambda row: row["event_id"]) == wanted


def test_two_workers_send_each_event_once(
    spark: "SparkSession", servers: str, tmp_path: Path
) -> None:
    # The fourth client has no event.
    plan = plan_of(
        "[{name: a, behaviour: steady, topic: t, clients: 3, rate: 200},"
        " {name: b, behaviour: steady, topic: t, clients: 1, rate: 1, start_s: 0.4}]"
    )
    topology = prepare(plan, "r", servers, sets_quotas=False).topology
    run_load(spark, RunSpec("r", plan, topology, workers=2), str(tmp_path))
    rows = pq.read_table(tmp_path / "results").to_pylist()
    produce = of_api(rows, "Produce")
    count = sum(batch.num_rows for batch in events_of(plan))
    assert sorted(row["event_id"] for row in produce) == list(range(count))
    assert endings(produce) == {("responded", "new", 0): count}
    assert {(row["worker"], row["client"] % 2) for row in produce} == {(0, 0), (1, 1)}
    assert {row["run"] for row in rows} == {"r"}
    intended = {row["event_id"]: row["intended_us"] for row in produce}
    for batch in events_of(plan):
        for event in batch.to_pylist():
            assert intended[event["event_id"]] == event["t_us"]


def own_broker(brokers: int, config: dict[str, str], _has_admin_port: bool, /) -> MockKafka:
    return MockKafka(brokers, config)


def run(spark: "SparkSession", out: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    options = cli.parser_of("test").parse_args([*arguments, "--out", str(out)])
    status = cli.run(options, lambda: nullcontext(spark), own_broker)
    return status, json.loads((out / "summary.json").read_text())


def test_a_plan_goes_all_the_way_to_its_page(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, summary = run(spark, tmp_path, "producer-churn", "--duration", "1")
    told = {(each["about"], each["verdict"]) for each in summary["verdicts"]}
    assert status == 0, told
    assert ("user wasteful at broker 1", "kept") in told
    assert ("tenant well-behaved", "kept") in told
    assert summary["is_complete"]
    assert summary["machine"]["broker_percent"] > 0
    page = (tmp_path / "report.html").read_text()
    assert "producer-churn" in page
    assert {path.name for path in (tmp_path / "charts").iterdir()} >= {"ids.png", "rates.png"}
    assert "report: " in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "results").iterdir()] == [f"run={summary['run_id']}"]


def run_until(
    spark: "SparkSession",
    out: Path,
    servers: str,
    end: Callable[[], object],
    topic: str = "t",
) -> tuple[int, dict[str, Any]]:
    """Ten minutes of load, in which `end` is called once some batches were stored."""
    plan = out / "plan.yaml"
    plan.write_text(
        f"duration_s: 600\nrecord: [results]\ntopics: [{{name: {topic}, partitions: 1}}]\n"
        f"tenants: [{{name: a, behaviour: steady, topic: {topic}, clients: 4, rate: 50}}]\n"
    )
    ends = iter([end])

    def show(standing: Standing) -> None:
        if standing.total("done") > 20:
            next(ends, bool)()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "_bar", lambda *_: nullcontext(show))
        return run(spark, out, str(plan), "--bootstrap-server", servers)


def test_a_target_that_dies_ends_the_run_and_leaves_what_was_done(
    spark: "SparkSession", tmp_path: Path
) -> None:
    kafka = MockKafka().start()
    try:
        status, summary = run_until(spark, tmp_path, kafka.bootstrap_servers, kafka.stop)
    finally:
        kafka.stop()
    assert status == 1
    assert not summary["is_complete"]
    assert any("cannot connect to" in reason for reason in summary["ended"])
    assert summary["totals"]["responded"] > 20
    assert summary["totals"]["not_due"] > 20_000
    assert "This run is not complete." in (tmp_path / "report.html").read_text()


def test_a_ctrl_c_ends_the_run_and_leaves_what_was_done(
    spark: "SparkSession", servers: str, tmp_path: Path
) -> None:
    main_thread = threading.main_thread().ident or 0

    def press() -> None:
        signal.pthread_kill(main_thread, signal.SIGINT)

    status, summary = run_until(spark, tmp_path, servers, press, topic="stopped")
    assert status == 1
    assert summary["ended"] == [STOPPED_BY_USER]
    assert 20 < summary["totals"]["responded"] < 30_000 - 20_000
    assert summary["totals"]["not_due"] > 20_000
    assert summary["measured_s"] < 400
    # Nobody waits for the topics to be read, and the plan wants the results and nothing else.
    assert not (tmp_path / "read-back").exists()
    assert [path.name for path in (tmp_path / "results").iterdir()] == [f"run={summary['run_id']}"]
    assert list((tmp_path / "schedule").iterdir()) == []
    assert "stopped by the user" in (tmp_path / "report.html").read_text()
