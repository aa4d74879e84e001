"""Whole runs with faults on our broker: they happen when the plan says, and are judged."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loadgen.fault_target import FaultError
from mock_kafka import MockKafka
from tests.loadgen import disturbed_runs
from tests.loadgen.disturbed_runs import recovery_verdicts, stored_verdicts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

ALL_KINDS = f"""\
duration_s: 22
{disturbed_runs.HEAD}
faults:
  - name: leader moves
    at: 2s
    move_leader: {{topic: t, partition: 0, to: 2}}
    expect: {{recovered_within: 2s}}
  - name: broker 3 is down
    at: 6s
    for: 1s
    stop_broker: {{broker: 3}}
    expect: {{recovered_within: 2s}}
{disturbed_runs.throttles_and_losses(11)}"""
TOO_STRICT = f"""\
duration_s: 8
{disturbed_runs.HEAD}
faults:
  - name: long throttles
    at: 3s
    for: 1s
    rule: {{api: Produce, throttle_time_ms: 2000}}
    expect: {{recovered_within: 500ms}}
"""


def test_a_load_recovers_from_all_kinds_of_faults_and_loses_nothing(
    spark: "SparkSession", tmp_path: Path
) -> None:
    status, summary = disturbed_runs.run(spark, tmp_path, ALL_KINDS)
    assert summary["is_complete"], summary["abort_reasons"]
    assert status == 0, summary["verdicts"]
    moved, down, throttled, lost = summary["faults"]
    intended_s = [fault["intended_us"] / 1e6 for fault in summary["faults"]]
    assert intended_s == [2.0, 6.0, 11.0, 16.0]
    for fault in summary["faults"]:
        assert fault["error"] is None
        assert fault["intended_us"] <= fault["begun_us"]
    assert moved["ended_us"] is None
    assert down["ended_us"] - down["begun_us"] > 900_000
    assert throttled["fired"] > 5
    assert lost["fired"] > 3

    names = ["leader moves", "broker 3 is down", "throttles", "lost responses"]
    passed = {f"fault {name}, tenant shop": "passed" for name in names}
    recovered = recovery_verdicts(summary)
    assert {scope: word for scope, (word, _) in recovered.items()} == passed, recovered
    stored = stored_verdicts(summary)
    assert {scope: word for scope, (word, _) in stored.items()} == {
        f"fault {name}": "passed" for name in names
    }, stored
    page = (tmp_path / "out" / "report.html").read_text()
    for name in names:
        assert f">{name}<" in page
    tables = tmp_path / "out" / "tables"
    assert len((tables / "recoveries.csv").read_text().splitlines()) == 1 + len(names)


def test_an_expectation_that_is_not_met_fails_the_run_and_says_so(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MockKafka(3) as kafka:
        address = ("--bootstrap-server", kafka.bootstrap_servers)
        with pytest.raises(FaultError, match="need the URL of mock-kafka's admin port: --admin"):
            disturbed_runs.run(spark, tmp_path, TOO_STRICT, *address)
        admin = ("--admin", kafka.admin_url)
        status, summary = disturbed_runs.run(spark, tmp_path, TOO_STRICT, *address, *admin)
    assert summary["is_complete"], summary["abort_reasons"]
    assert status == 1
    scope = "fault long throttles, tenant shop"
    word, details = recovery_verdicts(summary)[scope]
    assert word == "failed"
    assert "(at most 0.5 s)" in details
    assert [word for word, _ in stored_verdicts(summary).values()] == ["passed"]
    [recovery] = summary["recoveries"]
    assert recovery["recovered_us"] is None or recovery["recovered_us"] > 500_000
    assert recovery["longest_gap_us"] > 500_000
    shown = " ".join(capsys.readouterr().out.split())
    assert "long throttles" in shown
    assert "at most 0.5 s" in shown
