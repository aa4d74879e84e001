import json
from typing import Any

import pyarrow as pa

from atlas.experiment import Experiment, Manners, Result
from atlas.rows import (
    EXPERIMENT_SCHEMA,
    REQUEST_SCHEMA,
    count_in,
    crashed_row,
    events_of,
    experiment_row,
    request_rows,
)
from atlas.situation import load_situation
from tests.atlas.run_folder import OBSERVATION, SITUATION


def through_arrow(rows: list[dict[str, Any]], schema: pa.Schema) -> list[dict[str, Any]]:
    rows_again: list[dict[str, Any]] = pa.Table.from_pylist(rows, schema).to_pylist()
    return rows_again


def test_an_experiment_has_a_value_for_each_column() -> None:
    experiment = Experiment("kafka-python", load_situation(SITUATION), seed=3)
    manners = Manners(2, 50.5, None, "fatal", "SomeError", "fatal", "cleanly", False, 20.0)
    result = Result(
        experiment, "3.0", "wrong", ("why",), "kept", manners, OBSERVATION, "a line", 1, 2
    )
    row = experiment_row("id", result)
    assert list(row) == EXPERIMENT_SCHEMA.names
    assert through_arrow([row], EXPERIMENT_SCHEMA) == [row]
    assert (row["client_version"], row["seed"], row["backoff_ms"]) == ("3.0", 3, 50.5)
    assert json.loads(row["events"]) == list(events_of(OBSERVATION))


def test_events_leave_out_what_is_empty() -> None:
    events = list(events_of(OBSERVATION))
    assert [event.get("command") for event in events] == ["send", "poll", None, None]
    assert "values" not in events[0]
    assert events[1]["values"]["records"][1]["offset"] == 1
    assert events[2] == {"send": 1, "at_ms": 10.0, "offset": 0}
    assert events[3]["error"] == "SomeError"


def test_a_request_has_a_value_for_each_column() -> None:
    (row,) = request_rows("id", OBSERVATION)
    assert list(row) == REQUEST_SCHEMA.names
    (again,) = through_arrow([row], REQUEST_SCHEMA)
    assert again["errors"] == ["CORRUPT_MESSAGE"]
    assert (again["experiment_id"], again["latency_ms"], again["fault"]) == ("id", 1.5, None)


def test_an_experiment_that_did_not_run_says_why() -> None:
    planned = {"experiment_id": "id", "client": "sarama", "situation": SITUATION, "task": 5}
    row = crashed_row(planned, "AdapterError: it was not ready", 99)
    assert (row["cell"], row["reasons"]) == ("crashed", ["AdapterError: it was not ready"])
    assert through_arrow([row], EXPERIMENT_SCHEMA)[0]["client"] == "sarama"


def test_the_name_of_a_file_has_its_number_of_experiments() -> None:
    assert count_in("task-00ff-8.parquet") == 8
    assert count_in("_task-00ff-8.parquet.incomplete") == 0
    assert count_in("part-7.parquet") == 0
