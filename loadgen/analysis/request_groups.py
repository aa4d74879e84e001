"""What follows from the sums of requests: a group is a kind of request and outcome.

The sums are `requests` of `row_sums.of_rows`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from loadgen.analysis.latencies import Latencies
from loadgen.expected_answers import NO_ERRORS

Rows = list[dict[str, Any]]

_ONLY_HERE = ("sent", "throttled", "sent_early", "early_max_us", "responded_early", "end_us")


_KEYS = ("tenant", "api", "status", "kind", "error_code")
_SUMS = (
    "requests",
    "throttle_ms",
    "bytes",
    "mutations",
    "sent",
    "throttled",
    "sent_early",
    "responded_early",
)
_SERVICE_SHARES = (0.5, 0.99)


def groups_of(rows: Rows) -> Rows:
    """Return the groups in the order of their keys, of rows for each bin of the response times."""
    members: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        members.setdefault(tuple(row[key] for key in _KEYS), []).append(row)
    # Nothing comes first, as in SQL.
    order = sorted(members, key=lambda group: [(key is not None, key) for key in group])
    return [{**dict(zip(_KEYS, key, strict=True)), **_figures(members[key])} for key in order]


def _figures(rows: Rows) -> dict[str, Any]:
    sums = {name: _sum(row[name] for row in rows) for name in _SUMS}
    times = Latencies((row["bin"], row["requests"]) for row in rows if row["bin"] is not None)
    return {
        "requests": sums["requests"],
        "service_us": times.percentiles_us(_SERVICE_SHARES),
        "throttle_ms": sums["throttle_ms"],
        "throttle_max_ms": _max(row["throttle_max_ms"] for row in rows),
        **sums,
        "early_max_us": _max(row["early_max_us"] for row in rows),
        "end_us": _max(row["end_us"] for row in rows),
    }


def requests_of(groups: Rows) -> Rows:
    """Return the columns of the table of requests."""
    return [
        {name: value for name, value in group.items() if name not in _ONLY_HERE} for group in groups
    ]


def totals_of(groups: Rows) -> dict[str, Any]:
    """Return the sums over all requests; `end_us` is None without any."""
    found: dict[str, Any] = {"requests": _sum(group["sent"] for group in groups) or 0}
    for status in ("responded", "no_response", "lost", "not_sent", "expired"):
        found[status] = sum(group["requests"] for group in groups if group["status"] == status)
    found["errors"] = sum(group["requests"] for group in groups if _is_error(group))
    found["throttled"] = sum(group["throttled"] for group in groups)
    found["end_us"] = _max(group["end_us"] for group in groups)
    return found


def _is_error(group: Mapping[str, Any]) -> bool:
    code = group["error_code"]
    return group["status"] == "responded" and code is not None and code not in NO_ERRORS


def throttles_of(groups: Rows) -> Rows:
    """Return the throttles of each tenant, in the order of their names."""
    by_tenant: dict[str, Rows] = {}
    for group in groups:
        by_tenant.setdefault(group["tenant"], []).append(group)
    return [
        {
            "tenant": tenant,
            "throttled": sum(row["throttled"] for row in rows),
            "throttle_total_ms": _sum(row["throttle_ms"] for row in rows),
            "throttle_max_ms": _max(row["throttle_max_ms"] for row in rows),
            "sent_early": sum(row["sent_early"] for row in rows),
            "early_max_us": _max(row["early_max_us"] for row in rows),
            "responded_early": sum(row["responded_early"] for row in rows),
        }
        for tenant, rows in sorted(by_tenant.items())
    ]


def duplicates_of(groups: Rows) -> Rows:
    """Return how many batches sent again had which outcome, in the order of kind and error code."""
    found: dict[tuple[str, int | None], int] = {}
    for group in groups:
        if group["api"] == "Produce" and group["kind"] not in {"new", None}:
            key = group["kind"], group["error_code"]
            found[key] = found.get(key, 0) + group["requests"]
    # No error code comes first, as in SQL.
    order = sorted(found, key=lambda key: (key[0], -1 if key[1] is None else key[1]))
    return [
        {"kind": kind, "error_code": code, "requests": found[kind, code]} for kind, code in order
    ]


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _max(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
