"""What is computed from the rows of a run: `matrix.json`, and the map beside it."""

import json
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from atlas import analysis
from atlas.causes import cause_of
from atlas.clients import atlas_version
from atlas.map_page import render
from atlas.rows import EXPERIMENTS, count_in
from atlas.situation import Situation, load_situations
from client import clock
from loadgen.command_error import CommandError
from loadgen.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MATRIX, MAP = "matrix.json", "map.html"
_SHOWN = (
    *("id", "title", "area", "sources", "workload", "arguments", "brokers", "release", "config"),
    *("quotas", "topics", "records", "faults", "advance_s", "expect", "on_kafka"),
)


def count(storage: Storage) -> int:
    """Return how many experiments a folder has."""
    return sum(count_in(name) for name in storage.names(EXPERIMENTS))


def write(spark: "SparkSession", storage: Storage, command: str) -> dict[str, Any]:
    """Write the matrix and the map of all experiments of a folder; return the matrix.

    `command` is the one that repeats the run.
    """
    found = analysis.figures(spark, storage)
    for row in found["cells"]:
        row["cause"] = cause_of(row["client"], row["situation"], row["cell"])
    situations = load_situations()
    matrix = {
        "command": command,
        "version": atlas_version(),
        "python": platform.python_version(),
        "written": datetime.fromtimestamp(clock.wall_ms() / 1000, UTC).strftime("%Y-%m-%d"),
        "clients": _clients(found["cells"]),
        "situations": [
            shown(situations[name])
            for name in sorted({row["situation"] for row in found["cells"]})
            if name in situations
        ],
        "cells": [
            {name: value for name, value in row.items() if name != "events"}
            for row in found["cells"]
        ],
        **{name: found[name] for name in ("counts", "outliers", "releases")},
    }
    storage.write(json.dumps(matrix, indent=1).encode(), MATRIX)
    storage.write(render(matrix, found["cells"], found["requests"]).encode(), MAP)
    return matrix


def read(storage: Storage) -> dict[str, Any]:
    """Return the matrix of a folder.

    Raises:
        CommandError: there is none, or it is no JSON.
    """
    try:
        matrix: dict[str, Any] = json.loads(storage.read(MATRIX))
    except ValueError as error:
        raise CommandError(f"{storage.of(MATRIX)} is no JSON: {error}") from error
    return matrix


def count_lines(matrix: Mapping[str, Any]) -> list[str]:
    """Return a line for each client with the number of its cells of each kind."""
    kinds = ("as_expected", "differs", "wrong", "crashed", "unsupported")
    names = ("as expected", *kinds[1:])
    lines = [f"{'client':28}" + "".join(f"{name:>13}" for name in names)]
    for client, version in _clients(matrix["cells"]):
        counts = {
            row["cell"]: row["situations"]
            for row in matrix["counts"]
            if (row["client"], row["client_version"]) == (client, version)
        }
        cells = "".join(f"{counts.get(kind, 0):13}" for kind in kinds)
        lines.append(f"{client + ' ' + version:28}{cells}")
    return lines


def _clients(cells: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return sorted({(row["client"], row["client_version"]) for row in cells})


def shown(situation: Situation) -> dict[str, Any]:
    """Return what the page shows of a situation; values that say nothing are left out."""
    values = to_builtins(situation)
    shown = {name: values[name] for name in _SHOWN if values.get(name)}
    shown["expect"] = {name: value for name, value in values["expect"].items() if value}
    return shown
