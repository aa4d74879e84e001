from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from atlas import engine
from atlas.adapter_process import AdapterError
from atlas.engine import run_task
from atlas.experiment import Experiment, Manners, Observation, Result
from atlas.rows import EXPERIMENTS, REQUESTS
from loadgen.storage import Storage
from tests.atlas.run_folder import OBSERVATION, SITUATION


class FakeLane:
    def __init__(self, client: str) -> None:
        self._client = client

    def run(self, experiment: Experiment) -> Result:
        if self._client == "broken":
            raise AdapterError("it was not ready")
        observation = OBSERVATION if experiment.seed == 1 else Observation()
        manners = Manners(0, None, None, "success", None, None, "cleanly", True, 1.0)
        return Result(experiment, "1.0", "differs", (), "kept", manners, observation, "", 5, 6)


class FakeLanes:
    @contextmanager
    def lane(self, client: str) -> Iterator[Any]:
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


def test_a_task_writes_a_row_for_each_experiment_and_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engine, "_lanes", lambda _count: FakeLanes())
    storage = Storage(str(tmp_path))
    experiments = [planned("kafka-python", 1), planned("kafka-python", 2), planned("broken", 1)]
    written = run_task(experiments, storage, 4)
    (name,) = storage.names(EXPERIMENTS)
    assert name == "task-kafka-python-1-3.parquet"
    rows = pq.read_table(tmp_path / EXPERIMENTS / name).to_pylist()
    assert rows == written
    assert [(row["experiment_id"], row["cell"]) for row in rows] == [
        ("kafka-python-1", "differs"),
        ("kafka-python-2", "differs"),
        ("broken-1", "crashed"),
    ]
    assert rows[2]["reasons"] == ["AdapterError: it was not ready"]
    requests = pq.read_table(tmp_path / REQUESTS / name).to_pylist()
    assert [request["experiment_id"] for request in requests] == ["kafka-python-1"]
