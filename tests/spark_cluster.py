"""A standalone cluster of Spark on loopback: a master and two workers with a core each."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import NamedTuple

import pytest

from tests.free_ports import free_port_run

START_TIMEOUT_S = 180  # of a busy machine
SUMMARIZE_IN_A_JOB = """\
import sys
from loadgen import summarize
from loadgen.analysis import summary
summary.DISTRIBUTED_ROWS_MIN = 1
sys.exit(summarize.main(sys.argv[1:]))
"""
"""What `mock-kafka load summarize` does with many rows, for a few."""
SPARK_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
# JVMs that start quickly: six of them share what cores there are.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class SparkCluster(NamedTuple):
    """The URL of the master, and the processes of the workers."""

    master: str
    workers: tuple["subprocess.Popen[str]", ...]


def require_spark() -> Path:
    """Return the home of Spark, or skip the test."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        pytest.skip("PySpark is not here: install the extra spark")
    if which("java") is None:
        pytest.skip("Spark needs java, which is not here")
    return Path(found.origin).parent


@contextmanager
def spark_cluster(spark_home: Path, folder: Path) -> Iterator[SparkCluster]:
    """Run a cluster whose processes have none of our packages; its files are in the folder."""
    environment = {**daemon_environment(spark_home), "PYTHONPATH": ""}
    port = free_port_run(1)
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        words = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"]
        words += ["--port", str(port), "--webui-port", "0"]
        started = stack.enter_context(spark_daemon(spark_home, folder, environment, *words))
        started.await_up("New state: ALIVE")
        workers = []
        for number in range(2):
            words = ["org.apache.spark.deploy.worker.Worker", master, "--host", "127.0.0.1"]
            words += ["--cores", "1", "--memory", "1g", "--webui-port", "0"]
            words += ["--work-dir", str(folder / f"work-{number}")]
            worker = spark_daemon(spark_home, folder, environment, *words)
            workers.append(stack.enter_context(worker))
        for worker_started in workers:
            worker_started.await_up("Successfully registered")
        yield SparkCluster(master, tuple(worker.process for worker in workers))


def daemon_environment(spark_home: Path) -> dict[str, str]:
    """Return the variables of a daemon of Spark, and of a driver beside it."""
    return {
        **os.environ,
        "SPARK_HOME": str(spark_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": JVM_OPTIONS,
        "SPARK_LAUNCHER_OPTS": JVM_OPTIONS,
        "SPARK_DAEMON_MEMORY": "256m",
    }


class Daemon:
    """A daemon of Spark, whose output is read all the time, or it would block."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._deadline = threading.Timer(START_TIMEOUT_S, process.kill)
        self._deadline.start()
        self._reader = threading.Thread(target=self._read_rest, daemon=True)

    def await_up(self, said: str) -> None:
        """Wait until it has printed a text."""
        assert self.process.stdout is not None
        heard = []
        for line in self.process.stdout:
            heard.append(line)
            if said in line:
                break
        else:
            pytest.fail("".join(heard))
        self._deadline.cancel()
        self._reader.start()

    def stop(self) -> None:
        """Stop it, if it runs."""
        self._deadline.cancel()
        self.process.terminate()
        self.process.wait(20)
        if self._reader.is_alive():
            self._reader.join(20)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _read_rest(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.read()


@contextmanager
def spark_daemon(
    spark_home: Path, folder: Path, environment: dict[str, str], *words: str
) -> Iterator[Daemon]:
    """Start a class of Spark, and stop its process after the block."""
    daemon = Daemon(
        subprocess.Popen(
            [str(spark_home / "bin" / "spark-class"), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            cwd=folder,
        )
    )
    try:
        yield daemon
    finally:
        daemon.stop()
