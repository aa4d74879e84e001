"""spark-submit of the job on a standalone cluster: a master and two workers on loopback."""

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import loadgen
from loadgen import pack
from mock_kafka import MockKafka
from tests.spark_cluster import (
    JVM_OPTIONS,
    SUMMARIZE_IN_A_JOB,
    daemon_environment,
    require_spark,
    spark_cluster,
)

PACKAGE = Path(loadgen.__file__).parent
SUBMIT_TIMEOUT_S = 240
LOG4J = (PACKAGE / "log4j2.properties").as_uri()
PLAN = """\
duration_s: 1
topics: [{name: t, partitions: 2}]
lateness_p99_ms: 1000
tenants: [{name: a, behaviour: steady, topic: t, clients: 4, rate: 50}]
"""


@pytest.mark.long
@pytest.mark.interop
def test_the_job_runs_on_a_spark_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark_home = require_spark()
    monkeypatch.setattr(pack, "_COMPRESSION_LEVEL", 0)  # it takes less time
    plan, out, archive = tmp_path / "small.yaml", tmp_path / "out", tmp_path / "environment.tar.gz"
    plan.write_text(PLAN)
    pack.write_archive(archive)
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    environment = {
        **daemon_environment(spark_home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    with ExitStack() as stack:
        kafka = stack.enter_context(MockKafka())
        master = stack.enter_context(spark_cluster(spark_home, tmp_path)).master
        submitted = run(
            [
                str(spark_home / "bin" / "spark-submit"),
                *("--master", master, "--properties-file", str(PACKAGE / "spark.properties")),
                *("--conf", "spark.executor.cores=1", "--executor-memory", "512m"),
                *("--conf", "spark.driver.host=127.0.0.1"),
                *("--conf", f"spark.executor.extraJavaOptions={JVM_OPTIONS}"),
                *("--driver-java-options", f"{JVM_OPTIONS} -Dlog4j2.configurationFile={LOG4J}"),
                str(PACKAGE / "job.py"),
                *(str(plan), "--bootstrap-server", kafka.bootstrap_servers),
                *("--workers", "2", "--out", str(out)),
            ],
            environment,
            tmp_path,
        )
        assert "report: " in submitted
        assert_complete(out, master)

        # These executors have a Python without any package, and separate folders.
        run(
            [
                *(sys.executable, "-m", "mock_kafka", "load", str(plan), "--master", master),
                *("--environment", str(archive), "--workers", "2", "--live-port", "0"),
                *("--out", str(out) + "-packed"),
            ],
            {**environment, "PYSPARK_PYTHON": str(bare / "bin" / "python")},
            tmp_path,
        )
        assert_complete(Path(f"{out}-packed"), master)
        (Path(f"{out}-packed") / "summary.json").unlink()
        run(
            [
                *(sys.executable, "-c", SUMMARIZE_IN_A_JOB, f"{out}-packed"),
                *("--master", master, "--environment", str(archive)),
            ],
            {**environment, "PYSPARK_PYTHON": str(bare / "bin" / "python")},
            tmp_path,
        )
        assert_complete(Path(f"{out}-packed"), master)
        unpacked = list(tmp_path.glob(f"work-*/app-*/*/{pack.FOLDER}/loadgen/__init__.py"))
        assert len(unpacked) == 4


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SUBMIT_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the live page stopped" not in done.stderr
    return done.stdout


def assert_complete(out: Path, master: str) -> None:
    summary = json.loads((out / "summary.json").read_text())
    assert summary["master"] == master
    assert summary["is_complete"]
    assert [worker["worker"] for worker in summary["workers"]] == [0, 1]
    assert summary["totals"]["responded"] == 54  # with four producer ids
    assert {verdict["verdict"] for verdict in summary["verdicts"]} == {"passed"}
