"""The tables of a run's report as CSV, with the names that `summary.json` has."""

import csv
from collections.abc import Mapping
from io import StringIO
from typing import Any

TABLES = (
    "verdicts",
    "tenants",
    "latencies",
    "periods",
    "groups",
    "backlogs",
    "throttles",
    "requests",
    "faults",
    "recoveries",
)


def as_csv(summary: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the tables by name; a list of percentiles is left out where its members have names.

    One without rows is left out. The response times of requests are their median and their p99.
    """
    found = {}
    for name in TABLES:
        rows = [_flat(row) for row in summary[name]]
        if rows:
            text = StringIO()
            writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            found[name] = text.getvalue().encode()
    return found


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in row.items() if key not in {"response_us", "service_us"}}
    if "service_us" in row:
        flat["p50_us"], flat["p99_us"] = row["service_us"] or (None, None)
    return flat
