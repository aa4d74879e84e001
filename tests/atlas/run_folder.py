"""Runs of the atlas by hand: rows in a folder, as tasks write them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from atlas.experiment import Observation, SeenRequest
from atlas.rows import EXPERIMENT_SCHEMA, EXPERIMENTS, REQUEST_SCHEMA, REQUESTS
from loadgen.storage import Storage
from tests.atlas.observations import delivered, poll, send, undelivered

SITUATION = "PRODUCE-CORRUPT_MESSAGE-once"
REQUEST = SeenRequest(
    7, 12, 1, 3, "Produce", 13, 120, "responded", "main", ("CORRUPT_MESSAGE",), latency_ms=1.5
)
OBSERVATION = Observation(
    (send(1, "0"), poll(2, 0, 1)), (delivered(1), undelivered(2)), requests=(REQUEST,)
)
"""An observation with a value of each kind."""


def row(cell: str = "as_expected", **values: Any) -> dict[str, Any]:
    """Return the row of an experiment; its id is its client, version, situation and seed."""
    found: dict[str, Any] = dict.fromkeys(EXPERIMENT_SCHEMA.names)
    found.update(
        client="kafka-python",
        client_version="3.0.12",
        situation=SITUATION,
        area="producer",
        seed=1,
        cell=cell,
        data="kept",
        reported="success",
        retries=0,
        closed="cleanly",
        usable=True,
        outcome_ms=10.0,
        started_ms=1_000,
        duration_ms=100,
        reasons=[] if cell == "as_expected" else ["afterwards it is not usable"],
        events=json.dumps([{"n": 1, "command": "flush", "at_ms": 1.5, "outcome": "done"}]),
        log="",
    )
    found.update(values)
    parts = (found["client"], found["client_version"], found["situation"], found["seed"])
    found.setdefault("experiment_id", None)
    if found["experiment_id"] is None:
        found["experiment_id"] = "/".join(map(str, parts))
    return found


def request(experiment_id: str, **values: Any) -> dict[str, Any]:
    """Return the row of a Produce request."""
    found: dict[str, Any] = dict.fromkeys(REQUEST_SCHEMA.names)
    found.update(
        experiment_id=experiment_id,
        number=4,
        at_ms=2,
        phase="main",
        broker=1,
        api="Produce",
        api_version=13,
        size_bytes=100,
        outcome="responded",
        errors=["CORRUPT_MESSAGE"],
        throttle_time_ms=0,
        topics=["orders"],
        groups=[],
        transactional_ids=[],
    )
    found.update(values)
    return found


def write_run(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Storage:
    """Write a run with a request for each experiment; return its folder."""
    requests = [request(one["experiment_id"]) for one in rows]
    for name, schema, values in (
        (EXPERIMENTS, EXPERIMENT_SCHEMA, list(rows)),
        (REQUESTS, REQUEST_SCHEMA, requests),
    ):
        (folder / name).mkdir(parents=True)
        table = pa.Table.from_pylist(values, schema)
        pq.write_table(table, folder / name / f"task-0-{len(rows)}.parquet")
    return Storage(str(folder))
