"""A load runs in a session of Spark Connect, or is refused in one line."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from loadgen.plan.plan import Tenant
from loadgen.spark_connect import address_here, is_connect
from loadgen.spark_session import NO_ARCHIVE, SessionError, load_session
from mock_kafka import MockKafka
from tests.free_ports import free_port_run
from tests.spark_cluster import (
    SPARK_CONNECT,
    SUMMARIZE_IN_A_JOB,
    daemon_environment,
    require_spark,
    spark_daemon,
)

LOAD_TIMEOUT_S = 300
PACKAGE = Path(__file__).parents[2] / "loadgen"
PLAN = """\
duration_s: 1
topics: [{name: t, partitions: 2}]
lateness_p99_ms: 10000
tenants:
  - {name: a, behaviour: steady, topic: t, clients: 4, rate: 50}
  - {name: b, behaviour: consumer-group, topic: t, clients: 2, rate: 20}
"""
TENANT = Tenant("a", "steady", topic="t")


def test_a_url_with_sc_is_one_of_spark_connect() -> None:
    assert is_connect("sc://spark:15002")
    assert not is_connect("spark://spark:7077")


def test_this_host_has_an_address_that_another_one_reaches() -> None:
    assert address_here("127.0.0.1") == "127.0.0.1"


def test_a_server_that_is_not_there_is_one_line_at_once(tmp_path: Path) -> None:
    url = f"sc://127.0.0.1:{free_port_run(1)}"
    with pytest.raises(SessionError, match=f"^no Spark at {url}: .*refused$"):  # noqa: SIM117
        with load_session(url, tmp_path):
            pass


def test_an_archive_is_for_the_server_and_not_for_its_sessions(tmp_path: Path) -> None:
    with pytest.raises(SessionError) as raised:  # noqa: SIM117
        with load_session("sc://127.0.0.1:1", tmp_path, environment=tmp_path / "e.tar.gz"):
            pass
    assert str(raised.value) == NO_ARCHIVE


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A server of Spark Connect with two slots, and the settings of a load."""
    if find_spec("grpc") is None:
        pytest.skip("Spark Connect needs grpcio, which is not here: install pyspark[connect]")
    spark_home = require_spark()
    port = free_port_run(1)
    environment = {
        **daemon_environment(spark_home),
        "SPARK_DAEMON_MEMORY": "1g",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]),
    }
    words = ["org.apache.spark.deploy.SparkSubmit", "--master", "local[2]"]
    words += ["--properties-file", str(PACKAGE / "spark.properties")]
    words += ["--conf", f"spark.connect.grpc.binding.port={port}", "--class", SPARK_CONNECT]
    words += ["--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"]
    with spark_daemon(spark_home, tmp_path, environment, *words, "spark-internal") as started:
        started.await_up("Spark Connect server started")
        yield f"sc://127.0.0.1:{port}"


@pytest.mark.long
@pytest.mark.interop
def test_a_load_runs_in_a_session_of_spark_connect(server: str, tmp_path: Path) -> None:
    plan, out = tmp_path / "small.yaml", tmp_path / "out"
    plan.write_text(PLAN)
    with MockKafka() as kafka:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "mock_kafka", "load", str(plan), "--master", server),
                *("--bootstrap-server", kafka.bootstrap_servers, "--out", str(out)),
                *("--live-port", "0"),
            ],
            capture_output=True,
            text=True,
            timeout=LOAD_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    of_load = summary_of(out, server)
    again = subprocess.run(
        [sys.executable, "-c", SUMMARIZE_IN_A_JOB, str(out), "--master", server],
        capture_output=True,
        text=True,
        timeout=LOAD_TIMEOUT_S,
        check=False,
    )
    assert again.returncode == 0, again.stdout + again.stderr
    in_job = summary_of(out, server)
    for name in ("totals", "latencies", "periods", "requests", "verdicts", "series"):
        assert in_job[name] == of_load[name], name


def summary_of(out: Path, server: str) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
    assert summary["is_complete"]
    assert summary["master"] == server
    assert [worker["worker"] for worker in summary["workers"]] == [0, 1]
    assert {verdict["verdict"] for verdict in summary["verdicts"]} == {"passed"}
    assert {row["tenant"] for row in summary["latencies"]} == {"a", "b"}
    return summary
