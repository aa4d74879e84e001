"""Runs of the matrix on a standalone cluster of Spark: workers end, and the driver is killed."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from atlas.pack import write
from atlas.rows import EXPERIMENTS, REQUESTS
from atlas.situation import load_situations
from loadgen import pack
from tests.spark_cluster import SparkCluster, daemon_environment, require_spark, spark_cluster

pytestmark = [pytest.mark.long, pytest.mark.interop]
CLIENTS = "kafka-python,aiokafka"
SITUATIONS = "PRODUCE-LOST-*"
RUN_TIMEOUT_S = 900  # of a busy machine
FIRST_ROWS_S = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("atlas-cluster")


@pytest.fixture(scope="module")
def bare_python(folder: Path) -> str:
    """Return a Python without any package: all that an executor has comes in the archive."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "bare"], check=True)
    return str(folder / "bare" / "bin" / "python")


@pytest.fixture(scope="module")
def archive(folder: Path) -> Path:
    path = folder / "environment.tar.gz"
    write(path)
    return path


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    with spark_cluster(require_spark(), tmp_path) as running:
        yield running


def start(
    cluster: SparkCluster, out: Path, *options: str, python: str = sys.executable
) -> "subprocess.Popen[str]":
    words = ["--master", cluster.master, "--clients", CLIENTS, "--situations", SITUATIONS]
    return subprocess.Popen(
        [sys.executable, "-m", "mock_kafka", "atlas", "--out", out, *words, *options],
        env={**daemon_environment(require_spark()), "PYSPARK_PYTHON": python},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(run: "subprocess.Popen[str]") -> str:
    try:
        printed, _ = run.communicate(timeout=RUN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        run.kill()
        raise
    assert run.returncode == 0, printed
    return printed


def await_first_rows(run: "subprocess.Popen[str]", out: Path) -> None:
    """Wait until a task has written its rows."""
    for _ in range(FIRST_ROWS_S * 10):
        if list((out / EXPERIMENTS).glob("task-*")):
            return
        try:
            run.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    run.kill()
    pytest.fail(f"no rows: {run.communicate()[0]}")


def check_each_once(out: Path) -> None:
    rows = pq.read_table(out / EXPERIMENTS).to_pylist()
    pairs = Counter((row["client"], row["situation"]) for row in rows)
    expected = {(c, s) for c in CLIENTS.split(",") for s in load_situations([SITUATIONS])}
    assert set(pairs) == expected
    assert set(pairs.values()) == {1}
    assert {row["cell"] for row in rows} <= {"as_expected", "differs", "wrong", "unsupported"}
    requests = pq.read_table(out / REQUESTS).to_pylist()
    numbers = Counter((row["experiment_id"], row["number"]) for row in requests)
    assert {row["experiment_id"] for row in rows} >= {key for key, _ in numbers}
    assert max(numbers.values()) == 1


def test_executors_need_nothing_but_the_archive(
    cluster: SparkCluster, tmp_path: Path, archive: Path, bare_python: str
) -> None:
    run = start(cluster, tmp_path / "run", "--environment", str(archive), python=bare_python)
    finish(run)
    check_each_once(tmp_path / "run")
    unpacked = list(tmp_path.glob(f"work-*/app-*/*/{pack.FOLDER}/atlas/__init__.py"))
    assert len(unpacked) == 2


def test_a_run_goes_on_without_a_worker_that_was_lost(
    cluster: SparkCluster, tmp_path: Path
) -> None:
    run = start(cluster, tmp_path / "run", "--lanes", "2")
    await_first_rows(run, tmp_path / "run")
    cluster.workers[0].kill()
    finish(run)
    check_each_once(tmp_path / "run")


def test_a_run_whose_driver_was_killed_goes_on_where_it_was(
    cluster: SparkCluster, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = start(cluster, out, "--lanes", "2")
    await_first_rows(run, out)
    run.kill()
    run.communicate()
    there = pq.read_table(out / EXPERIMENTS).num_rows
    printed = finish(start(cluster, out, "--lanes", "2"))
    # What executors were at when the driver ended may have been written later.
    assert int(printed.split(" experiments\n")[0].rpartition("\n")[2]) <= 32 - there
    check_each_once(out)
