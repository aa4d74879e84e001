"""spark-submit of the job on a standalone cluster: a master and two workers on loopback."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

import loadgen
from loadgen import pack
from mock_kafka import MockKafka
from tests.free_ports import free_port_run

PACKAGE = Path(loadgen.__file__).parent
START_TIMEOUT_S = 60
SUBMIT_TIMEOUT_S = 240
# JVMs that start quickly: six of them share what cores there are.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
LOG4J = (PACKAGE / "log4j2.properties").as_uri()
PLAN = """\
duration_s: 1
topics: [{name: t, partitions: 2}]
lateness_p99_ms: 1000
tenants: [{name: a, behaviour: steady, topic: t, clients: 4, rate: 50}]
"""


@pytest.fixture
def spark_home() -> Path:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        pytest.skip("PySpark is not here: install the extra spark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs java, which is not here")
    return Path(found.origin).parent


@contextmanager
def daemon(
    spark_home: Path, folder: Path, said: str, environment: dict[str, str], *words: str
) -> Iterator[Callable[[], None]]:
    """Run a Spark daemon during the block, after it has printed `said`."""
    process = subprocess.Popen(
        [str(spark_home / "bin" / "spark-class"), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=folder,
    )
    assert process.stdout is not None
    deadline = threading.Timer(START_TIMEOUT_S, process.kill)
    deadline.start()
    reader = threading.Thread(target=process.stdout.read, daemon=True)

    def await_up() -> None:
        assert process.stdout is not None
        heard = []
        for line in process.stdout:
            heard.append(line)
            if said in line:
                break
        else:
            pytest.fail("".join(heard))
        deadline.cancel()
        # Read all output, or the process would block.
        reader.start()

    try:
        yield await_up
    finally:
        deadline.cancel()
        process.terminate()
        process.wait(20)
        if reader.is_alive():
            reader.join(20)
        process.stdout.close()


@contextmanager
def spark_cluster(spark_home: Path, folder: Path) -> Iterator[str]:
    """Run a master and two workers whose processes have none of our packages; yield its address."""
    environment = {**daemon_environment(spark_home), "PYTHONPATH": ""}
    port = free_port_run(1)
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        words = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"]
        words += ["--port", str(port), "--webui-port", "0"]
        stack.enter_context(daemon(spark_home, folder, "New state: ALIVE", environment, *words))()
        workers = []
        for number in range(2):
            words = ["org.apache.spark.deploy.worker.Worker", master, "--host", "127.0.0.1"]
            words += ["--cores", "1", "--memory", "1g", "--webui-port", "0"]
            words += ["--work-dir", str(folder / f"work-{number}")]
            worker = daemon(spark_home, folder, "Successfully registered", environment, *words)
            workers.append(stack.enter_context(worker))
        for await_up in workers:
            await_up()
        yield master


def daemon_environment(spark_home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "SPARK_HOME": str(spark_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": JVM_OPTIONS,
        "SPARK_LAUNCHER_OPTS": JVM_OPTIONS,
        "SPARK_DAEMON_MEMORY": "256m",
    }


@pytest.mark.long
@pytest.mark.interop
def test_the_job_runs_on_a_spark_cluster(
    spark_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        master = stack.enter_context(spark_cluster(spark_home, tmp_path))
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

        # These executors have a Python without any package, and folders of their own.
        run(
            [
                *(sys.executable, "-m", "mock_kafka", "load", str(plan), "--master", master),
                *("--environment", str(archive), "--workers", "2", "--out", str(out) + "-packed"),
            ],
            {**environment, "PYSPARK_PYTHON": str(bare / "bin" / "python")},
            tmp_path,
        )
        assert_complete(Path(f"{out}-packed"), master)
        unpacked = list(tmp_path.glob(f"work-*/app-*/*/{pack.FOLDER}/loadgen/__init__.py"))
        assert len(unpacked) == 2


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
    return done.stdout


def assert_complete(out: Path, master: str) -> None:
    summary = json.loads((out / "summary.json").read_text())
    assert summary["master"] == master
    assert summary["is_complete"]
    assert [worker["worker"] for worker in summary["workers"]] == [0, 1]
    assert summary["totals"]["responded"] == 54  # with four producer ids
    assert {verdict["verdict"] for verdict in summary["verdicts"]} == {"passed"}
