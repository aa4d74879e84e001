"""Judge a probe: by the checks of its run, and by objectives such as `p99=50ms`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.analysis.checks import THIS_RUN
from loadgen.expected_answers import NO_ERRORS
from loadgen.limit_search.bisection import ProbeOutcome

PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99")
"""In the order of `response_us` in a summary."""
EVENTS_MIN = {"p99": 100, "p99.9": 1000, "p99.99": 10_000}
"""Of fewer events a percentile is the longest of them, which one slow moment decides."""
SHARES = ("errors", "throttled")
NAMES = (*PERCENTILES, "max", *SHARES)
_UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_OBJECTIVE = re.compile(r"(?:(?P<tenant>.+):)?(?P<name>[\w.]+)=(?P<number>[\d.]+)(?P<unit>\w+|%)")
_NOT_OF_THE_TARGET = ("load generator", "cannot write")
"""In the reasons why a run is incomplete for which the target is not responsible."""
_UNANSWERED = {"no_response", "not_sent", "expired"}
"""Endings that are errors; a lost request is sent again, and some clients lose it on purpose."""


@dataclass(frozen=True, slots=True)
class Objective:
    """The largest value of a figure of one tenant, or of each of them."""

    name: str
    """One of `NAMES`."""
    limit: float
    """In ms; in percent for `SHARES`."""
    tenant: str | None = None

    def __str__(self) -> str:
        unit = "%" if self.name in SHARES else "ms"
        scope = "" if self.tenant is None else f"{self.tenant}:"
        return f"{scope}{self.name}={self.limit:g}{unit}"


def parse_objective(text: str) -> Objective:
    """Return the objective in a text such as `p99=50ms`, `shop:max=1s` or `errors=1%`.

    Raises:
        ValueError: it is invalid; the message says what is valid.
    """
    match = _OBJECTIVE.fullmatch(text)
    if match is None or match["name"] not in NAMES:
        raise ValueError(f"{text!r} is not [TENANT:]NAME=LIMIT with NAME among {', '.join(NAMES)}")
    units = {"%": 1.0} if match["name"] in SHARES else _UNITS_MS
    try:
        limit = float(match["number"]) * units[match["unit"]]
    except (KeyError, ValueError) as error:
        raise ValueError(f"{text!r} needs a number with one of {', '.join(units)}") from error
    return Objective(match["name"], limit, match["tenant"])


def judge(
    summary: Mapping[str, Any], objectives: Sequence[Objective]
) -> tuple[ProbeOutcome, list[str]]:
    """Return the outcome of a probe, and why it did not hold.

    A check that failed or an incomplete run is the target's, even if the generator was late.
    """
    failed = [verdict for verdict in summary["verdicts"] if verdict["verdict"] == "failed"]
    reasons = [
        f"{verdict['scope']}: {verdict['check']}: {verdict['details']}"
        for verdict in failed
        if verdict["scope"] != THIS_RUN
    ]
    is_late = any(verdict["scope"] == THIS_RUN for verdict in failed)
    own = [
        reason
        for reason in summary["abort_reasons"]
        if any(text in reason for text in _NOT_OF_THE_TARGET)
    ]
    reasons += [reason for reason in summary["abort_reasons"] if reason not in own]
    if reasons:
        return "broke", reasons
    if is_late or own:
        return "invalid", own or ["the load generator was late"]
    reasons = list(_broken(summary, objectives))
    return ("broke", reasons) if reasons else ("held", list(_unjudged(summary, objectives)))


def _broken(summary: Mapping[str, Any], objectives: Sequence[Objective]) -> Iterator[str]:
    for objective in objectives:
        few = _few_events(summary, objective)
        for tenant, value in figures_of(summary, objective.name).items():
            if tenant in few or objective.tenant not in {None, tenant}:
                continue
            if value is None or value > objective.limit:
                unit = "%" if objective.name in SHARES else "ms"
                found = "no event" if value is None else f"{value:,.4g} {unit}"
                yield f"tenant {tenant}: {objective.name} {found}, over {objective.limit:g} {unit}"


def _unjudged(summary: Mapping[str, Any], objectives: Sequence[Objective]) -> Iterator[str]:
    for objective in objectives:
        for tenant, events in _few_events(summary, objective).items():
            yield (
                f"tenant {tenant}: {objective.name} of {events} events is not judged: it needs"
                f" {EVENTS_MIN[objective.name]}"
            )


def _few_events(summary: Mapping[str, Any], objective: Objective) -> dict[str, int]:
    """Return how many events the tenants have that have too few for an objective."""
    return {
        row["tenant"]: row["events"]
        for row in summary["tenants"]
        if objective.tenant in {None, row["tenant"]}
        and 0 < row["events"] < EVENTS_MIN.get(objective.name, 0)
    }


def figures_of(summary: Mapping[str, Any], name: str) -> dict[str, float | None]:
    """Return a figure (one of `NAMES`) of each tenant, in ms or percent; None without data."""
    if name in SHARES:
        return {row["tenant"]: _share(summary, name, row["tenant"]) for row in summary["tenants"]}
    found: dict[str, float | None] = {}
    for row in summary["tenants"]:
        if name == "max":
            value = row["response_max_us"]
        else:
            values = row["response_us"]
            value = None if values is None else values[PERCENTILES.index(name)]
        found[row["tenant"]] = None if value is None else value / 1000
    return found


def worst_of(summary: Mapping[str, Any], name: str) -> float | None:
    """Return the largest value of a figure over the tenants; None without data."""
    values = [value for value in figures_of(summary, name).values() if value is not None]
    return max(values, default=None)


def _share(summary: Mapping[str, Any], name: str, tenant: str) -> float | None:
    rows = [row for row in summary["requests"] if row["tenant"] == tenant]
    total: int = sum(row["requests"] for row in rows)
    if not total:
        return None
    if name == "throttled":
        throttled = [row for row in summary["throttles"] if row["tenant"] == tenant]
        count: int = sum(row["throttled"] for row in throttled)
    else:
        count = sum(row["requests"] for row in rows if _is_error(row))
    return 100 * count / total


_SUCCESSFUL = {"", *(error.name for error in NO_ERRORS)}


def _is_error(row: Mapping[str, Any]) -> bool:
    return row["status"] in _UNANSWERED or row["error"] not in _SUCCESSFUL
