from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atlas import engine
from atlas.adapter_process import AdapterError
from atlas.engine import run_matrix, run_task
from atlas.experiment import Experiment, Manners, Observation, Result
from atlas.rows import EXPERIMENTS, REQUESTS
from loadgen.storage import Storage, StorageError
from mock_kafka import StartError
from scenarios.maven import CannotRunError
from tests.atlas.run_folder import OBSERVATION, SITUATION


class FakeLane:
    def __init__(self, client: str) -> None:
        self._client = client

    def run(self, experiment: Experiment) -> Result:
        if self._client == "broken":
            raise AdapterError("it was not ready")
        if self._client == "absent":
            raise CannotRunError("go is not here")
        if self._client == "late":
            raise StartError("the broker said nothing for 15.0 s")
        observation = OBSERVATION if experiment.seed == 1 else Observation()
        manners = Manners(0, None, None, "success", None, None, "cleanly", True, 1.0)
        return Result(experiment, "1.0", "differs", (), "kept", manners, observation, "", 5, 6)


class FakeLanes:
    def __init__(self) -> None:
        self.lent: list[str] = []

    @contextmanager
    def lane(self, client: str) -> Iterator[Any]:
        self.lent.append(client)
        yield FakeLane(client)


def planned(client: str, seed: int) -> dict[str, Any]:
    return {
        "experiment_id": f"{client}-{seed}",
        "client": client,
        "client_version": "1.0",
        "situation": SITUATION,
        "area": "producer",
        "seed": seed,
        "task": 0,
    }


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the lanes, and return the clients for which one was lent."""
    lanes = FakeLanes()
    monkeypatch.setattr(engine, "_lanes", lambda _count: lanes)
    return lanes.lent


def rows_of(tmp_path: Path, folder: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(tmp_path / folder).to_pylist()
    return rows


@pytest.mark.usefixtures("lent")
def test_a_task_writes_a_row_for_each_experiment_and_request(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    experiments = [planned("kafka-python", 1), planned("kafka-python", 2), planned("broken", 1)]
    assert run_task(experiments, storage, 4) == (3, [])
    (name,) = storage.names(EXPERIMENTS)
    assert name == "task-kafka-python-1-3.parquet"
    rows = rows_of(tmp_path, EXPERIMENTS)
    assert [(row["experiment_id"], row["cell"]) for row in rows] == [
        ("kafka-python-1", "differs"),
        ("kafka-python-2", "differs"),
        ("broken-1", "crashed"),
    ]
    assert rows[2]["reasons"] == ["AdapterError: it was not ready"]
    requests = rows_of(tmp_path, REQUESTS)
    assert [request["experiment_id"] for request in requests] == ["kafka-python-1"]


def test_a_task_that_has_written_its_rows_runs_nothing_again(
    lent: list[str], tmp_path: Path
) -> None:
    storage = Storage(str(tmp_path))
    experiments = [planned("kafka-python", 1), planned("kafka-python", 2)]
    for _ in range(2):
        assert run_task(experiments, storage, 2) == (2, [])
    assert len(lent) == 2
    assert len(rows_of(tmp_path, EXPERIMENTS)) == 2


@pytest.mark.usefixtures("lent")
@pytest.mark.parametrize(
    ("client", "text"), [("absent", "go is not here"), ("late", "the broker said nothing")]
)
def test_an_experiment_that_this_machine_can_not_run_has_no_row(
    client: str, text: str, tmp_path: Path
) -> None:
    storage = Storage(str(tmp_path))
    experiments = [planned(client, 1), planned("kafka-python", 1), planned("kafka-python", 2)]
    ran, [why] = run_task(experiments, storage, 4)
    assert ran == 2
    assert why.startswith(f"{client} can't run on ")
    assert text in why
    assert {row["client"] for row in rows_of(tmp_path, EXPERIMENTS)} == {"kafka-python"}
    # Its next task must not take the name of the file that is there.
    assert storage.names(EXPERIMENTS) == ["task-kafka-python-1-2.parquet"]
    assert run_task([planned(client, 2)], storage, 4) == (0, [why])
    assert len(storage.names(EXPERIMENTS)) == 1


class FakeTasks:
    """A DataFrame whose tasks run here, and write into a folder."""

    def __init__(self, planned: list[list[dict[str, Any]]]) -> None:
        self._planned = planned

    def mapInArrow(self, task: Any, schema: str) -> "FakeTasks":  # noqa: N802 - as in PySpark
        assert schema == engine.REPORT
        self._task = task
        return self

    def collect(self) -> list[dict[str, Any]]:
        batches = [pa.RecordBatch.from_pylist(rows) for rows in self._planned]
        return [row for done in self._task(iter(batches)) for row in done.to_pylist()]


@pytest.mark.usefixtures("lent")
def test_a_run_counts_its_experiments_and_what_could_not_be_run(tmp_path: Path) -> None:
    tasks: Any = FakeTasks([[planned("kafka-python", 1)], [], [planned("absent", 1)]])
    done = run_matrix(tasks, Storage(str(tmp_path)), 2)
    assert done.experiments == 1
    assert len(done.failures) == 1


def test_executors_that_write_elsewhere_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "run_task", lambda *_: engine.TaskResult(1, []))
    tasks: Any = FakeTasks([[planned("kafka-python", 1)]])
    with pytest.raises(StorageError, match="it must be a shared folder"):
        run_matrix(tasks, Storage(str(tmp_path)), 2)
