"""The map: one HTML page with the matrix, and behind each cell what happened there."""

import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from atlas.timeline import timeline

LINES_MAX = 120
"""Of a timeline in the page: a client may try thousands of times."""
_LINE_CHARACTERS_MAX = 400
_CELL = (
    *("cell", "is_flaky", "cells", "experiment_id", "data", "reported", "error", "error_class"),
    *("retries", "backoff_ms", "throttle", "closed", "usable", "outcome_ms", "reasons", "seed"),
    "cause",
)


def render(
    matrix: Mapping[str, Any],
    cells: Sequence[Mapping[str, Any]],
    requests: Iterable[Mapping[str, Any]],
) -> str:
    """Return the page, which loads nothing.

    What is behind the cells of a client is compressed, and read when one of them is opened.
    """
    seen: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for request in requests:
        seen[request["experiment_id"]].append(request)
    behind: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in cells:
        lines = timeline(json.loads(row["events"]), seen[row["experiment_id"]])
        behind[_key(row)][row["situation"]] = {
            **{name: row[name] for name in _CELL if row.get(name) not in (None, [])},
            "timeline": [
                [round(at_ms, 1), who, text[:_LINE_CHARACTERS_MAX]]
                for at_ms, who, text in lines[:LINES_MAX]
            ],
            "lines": len(lines),
        }
    page = {
        **{name: matrix[name] for name in ("command", "version", "written", "situations")},
        "clients": [f"{client} {version}" for client, version in matrix["clients"]],
        "cells": {
            client: {name: [cell["cell"], cell.get("is_flaky", False)] for name, cell in of.items()}
            for client, of in behind.items()
        },
    }
    template = (files(__package__) / "map.html").read_text(encoding="utf-8")
    blocks = "\n".join(
        f'<script type="application/gzip" data-client="{client}">{_packed(of)}</script>'
        for client, of in sorted(behind.items())
    )
    return template.replace("/*DATA*/null", _script_text(page)).replace("<!--BEHIND-->", blocks)


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['client']} {row['client_version']}"


def _packed(values: Any) -> str:
    text = json.dumps(values, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _script_text(values: Any) -> str:
    """Return JSON that can stand in a script element."""
    return json.dumps(values, separators=(",", ":")).replace("<", "\\u003c")
