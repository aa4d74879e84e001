"""The rows that a run keeps: one for an experiment, one for each request in it (Parquet)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from atlas.experiment import Observation, Result

EXPERIMENTS, REQUESTS = "experiments", "requests"
"""The folders of a run with these rows."""
TASK_FILE = "task-{}-{}.parquet"
"""The name has the id of the first experiment, and how many there are."""

EXPERIMENT_SCHEMA = pa.schema(
    [
        ("experiment_id", pa.string()),
        ("client", pa.string()),
        ("client_version", pa.string()),
        ("situation", pa.string()),
        ("area", pa.string()),
        ("seed", pa.int64()),
        ("cell", pa.string()),
        ("data", pa.string()),
        ("reported", pa.string()),
        ("error", pa.string()),
        ("error_class", pa.string()),
        ("retries", pa.int64()),
        ("backoff_ms", pa.float64()),
        ("throttle", pa.string()),
        ("closed", pa.string()),
        ("usable", pa.bool_()),
        ("outcome_ms", pa.float64()),
        ("started_ms", pa.int64()),
        ("duration_ms", pa.int64()),
        ("reasons", pa.list_(pa.string())),
        ("events", pa.string()),
        ("log", pa.string()),
    ]
)
"""`events` is JSON, see `events_of`; `log` is the end of the client's own log. Times are in ms."""
REQUEST_SCHEMA = pa.schema(
    [
        ("experiment_id", pa.string()),
        ("number", pa.int64()),
        ("at_ms", pa.int64()),
        ("phase", pa.string()),
        ("broker", pa.int32()),
        ("connection", pa.int64()),
        ("api", pa.string()),
        ("api_version", pa.int32()),
        ("size_bytes", pa.int64()),
        ("outcome", pa.string()),
        ("errors", pa.list_(pa.string())),
        ("throttle_time_ms", pa.int64()),
        ("fault", pa.string()),
        ("latency_ms", pa.float64()),
        ("topics", pa.list_(pa.string())),
        ("groups", pa.list_(pa.string())),
        ("transactional_ids", pa.list_(pa.string())),
    ]
)
"""`at_ms` counts from the beginning of the experiment, `latency_ms` is None without a response."""


def count_in(name: str) -> int:
    """Return how many experiments a file has, from its name; 0 for a file of another kind."""
    count = name.removesuffix(".parquet").rpartition("-")[2]
    return int(count) if name.startswith("task-") and count.isdecimal() else 0


def experiment_row(experiment_id: str, result: Result) -> dict[str, Any]:
    """Return the row of an experiment."""
    situation, seen = result.experiment.situation, result.manners
    return {
        "experiment_id": experiment_id,
        "client": result.experiment.client,
        "client_version": result.client_version,
        "situation": situation.id,
        "area": situation.area,
        "seed": result.experiment.seed,
        "cell": result.cell,
        "data": result.data,
        "reported": seen.reported,
        "error": seen.error,
        "error_class": seen.error_class,
        "retries": seen.retries,
        "backoff_ms": seen.backoff_ms,
        "throttle": seen.throttle,
        "closed": seen.closed,
        "usable": seen.usable,
        "outcome_ms": seen.outcome_ms,
        "started_ms": result.started_ms,
        "duration_ms": result.duration_ms,
        "reasons": list(result.reasons),
        "events": json.dumps(list(events_of(result.observation)), separators=(",", ":")),
        "log": result.log,
    }


def crashed_row(planned: Mapping[str, Any], reason: str, started_ms: int) -> dict[str, Any]:
    """Return the row of an experiment that could not be run to its end."""
    row: dict[str, Any] = dict.fromkeys(EXPERIMENT_SCHEMA.names)
    row.update({name: planned[name] for name in row.keys() & planned.keys()})
    row.update(
        cell="crashed", data="none", reasons=[reason], events="[]", log="", started_ms=started_ms
    )
    return row


def events_of(observation: Observation) -> Iterator[dict[str, Any]]:
    """Yield what the client was asked and what it reported, in the order of its commands.

    A command has `at_ms`, `ended_ms` and `outcome`; a report of a record has the number `send` of
    its command. What is empty is left out.
    """
    for command in observation.commands:
        event: dict[str, Any] = {
            "n": command.number,
            "command": command.name,
            "phase": command.phase,
            "at_ms": command.sent_ms,
            "ended_ms": command.ended_ms,
            "outcome": command.outcome,
            "arguments": dict(command.arguments),
            "values": dict(command.values),
        }
        yield {name: value for name, value in event.items() if value not in (None, {})}
    for delivery in observation.deliveries:
        event = {
            "send": delivery.send,
            "at_ms": delivery.at_ms,
            "offset": delivery.offset,
            "error": delivery.error,
            "class": delivery.error_class,
            "message": delivery.message,
        }
        yield {name: value for name, value in event.items() if value is not None}


def request_rows(experiment_id: str, observation: Observation) -> Iterator[dict[str, Any]]:
    """Yield a row for each request of an experiment."""
    for request in observation.requests:
        row = {"experiment_id": experiment_id}
        row.update(
            (name, getattr(request, name)) for name in REQUEST_SCHEMA.names if name not in row
        )
        yield row
