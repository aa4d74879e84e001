"""A small run through the command line, and what is done with it later."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from atlas.rows import EXPERIMENTS, REQUESTS
from atlas.run_command import difference_lines
from loadgen.command_error import CommandError
from loadgen.storage import Storage
from tests.atlas.run_folder import row, write_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.interop,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not here"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs java"),
]
CLIENTS = "kafka-python,aiokafka,confluent-kafka,mock-kafka-client"
SITUATIONS = "PRODUCE-CORRUPT_MESSAGE-*,PRODUCE-NOT_ENOUGH_REPLICAS-*,FETCH-OFFSET_OUT_OF_RANGE-*"
TIMEOUT_S = 120


def atlas(*arguments: str, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mock_kafka", "atlas", *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of a few situations with all Python clients."""
    out = tmp_path_factory.mktemp("atlas") / "run"
    printed = atlas("--out", str(out), "--clients", CLIENTS, "--situations", SITUATIONS)
    assert printed.startswith(f"{len(experiments_in(out))} experiments\n")
    return out


def experiments_in(folder: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pq.read_table(folder / EXPERIMENTS).to_pylist()
    return rows


def test_a_run_has_each_experiment_once_with_its_requests(folder: Path) -> None:
    rows = experiments_in(folder)
    assert len(rows) <= 60
    pairs = {(one["client"], one["situation"]) for one in rows}
    assert len(pairs) == len(rows) == 4 * len({one["situation"] for one in rows})
    assert {one["cell"] for one in rows} <= {"as_expected", "differs", "wrong", "unsupported"}
    seen = pq.read_table(folder / REQUESTS).to_pylist()
    assert {one["experiment_id"] for one in seen} >= {
        one["experiment_id"] for one in rows if one["cell"] != "unsupported"
    }
    matrix = json.loads((folder / "matrix.json").read_bytes())
    assert len(matrix["cells"]) == len(rows)
    assert "kafka-python" in (folder / "map.html").read_text(encoding="utf-8")


def test_a_run_that_is_there_is_not_repeated(folder: Path) -> None:
    before = sorted((folder / EXPERIMENTS).iterdir())
    options = ("--clients", "aiokafka", "--situations", SITUATIONS.split(",", maxsplit=1)[0])
    assert atlas("--out", str(folder), *options).startswith("all experiments are there\n")
    assert sorted((folder / EXPERIMENTS).iterdir()) == before


def test_an_experiment_is_replayed(folder: Path) -> None:
    (experiment_id,) = (
        str(one["experiment_id"])
        for one in experiments_in(folder)
        if (one["client"], one["situation"]) == ("kafka-python", "PRODUCE-CORRUPT_MESSAGE-once")
    )
    printed = atlas("replay", experiment_id, "--out", str(folder))
    assert "CORRUPT_MESSAGE" in printed
    assert printed.endswith("in the run wrong, now wrong\n")


def test_a_run_is_checked_against_a_baseline(folder: Path, tmp_path: Path) -> None:
    baseline, junit = tmp_path / "baseline.json", tmp_path / "junit.xml"
    options = (str(folder), "--baseline", str(baseline))
    atlas("check", *options, "--write")
    cells = json.loads(baseline.read_bytes())
    cells["kafka-python"]["PRODUCE-CORRUPT_MESSAGE-once"] = "as_expected"
    baseline.write_text(json.dumps(cells))
    printed = atlas("check", *options, "--junit", str(junit), status=1)
    assert "1 regressions" in printed
    assert junit.read_text().count("<testcase") == len(experiments_in(folder))
    assert "kafka-python in PRODUCE-CORRUPT_MESSAGE-once: as_expected before, now wrong" in printed


def test_two_runs_are_compared(tmp_path: Path) -> None:
    before = write_run(tmp_path / "before", [row("as_expected")])
    after = write_run(tmp_path / "after", [row("wrong")])
    assert atlas("diff", before.url, after.url, status=1).startswith("worse  kafka-python 3.0.12  ")
    with pytest.raises(CommandError, match="has no run"):
        difference_lines(after, Storage(str(tmp_path / "none")))
