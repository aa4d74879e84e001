"""Show proposals and trials: as one HTML page, as tables on the terminal, and as JSON values."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from loadgen import page
from loadgen.quota_trials.candidates import AMOUNTS, IDS, UNITS, WINDOW_KEYS, Candidate
from loadgen.quota_trials.proposals import WINDOWS_MIN, KeyResult, Trial, is_covered
from loadgen.quota_trials.replay import Refused
from loadgen.quota_trials.traffic import Traffic
from quotas.limits import Tags

ROWS_MAX = 12
"""Scopes in a table of the terminal."""


def render(traffic: Traffic, results: Mapping[str, KeyResult], charts: Mapping[str, str]) -> str:
    """Return the page as HTML; `charts` are SVG by quota key."""
    return page.render(
        "quota_trials/quotas.html",
        {"time": time_of, "number": number},
        found=as_dict(traffic, results),
        charts=charts,
        amounts=AMOUNTS,
    )


def as_dict(traffic: Traffic, results: Mapping[str, KeyResult]) -> dict[str, Any]:
    """Return everything as JSON values; times are ms since the first request."""
    return {
        "source": traffic.source,
        "notes": list(notes_of(traffic, results)),
        "requests": len(traffic),
        "span_ms": traffic.span_ms,
        "quotas": [_of_key(result) for result in results.values()],
    }


def _of_key(result: KeyResult) -> dict[str, Any]:
    proposal = result.proposal
    return {
        "key": result.key,
        "unit": UNITS[result.key],
        "by": "user" if result.key == IDS else result.by,
        "requests": result.requests,
        "protected": sorted(map(name_of, result.protected)),
        "proposal": None
        if proposal is None
        else {
            "value": proposal.value,
            "window": str(proposal.window),
            "required": result.required_by_protected,
            "settings": settings_of(proposal),
        },
        "required": [
            {"window": str(window), "scope": name_of(scope), "value": value}
            for window, values in result.required.items()
            for scope, value in sorted(values.items(), key=lambda item: -item[1])
        ],
        "trials": [_of_trial(result, trial) for trial in result.trials],
    }


def _of_trial(result: KeyResult, trial: Trial) -> dict[str, Any]:
    return {
        "label": trial.label,
        "value": trial.candidate.value,
        "window": str(trial.candidate.window),
        "admitted": trial.candidate.admitted,
        "is_safe": not trial.refused_of(result.protected),
        "refused": [
            {
                "scope": name_of(one.scope),
                "is_protected": one.scope in result.protected,
                "throttled": one.counter.throttled,
                "held": one.counter.held,
                "over_quota": one.counter.over_quota,
                "throttle_time_total_ms": one.counter.throttle_time_total_ms,
                "throttle_time_max_ms": one.counter.throttle_time_max_ms,
                "first_ms": one.counter.first_ms,
                "last_ms": one.last_ms,
                "muted_ms": one.muted_ms,
                "muted_gap_ms": one.gap_ms,
            }
            for one in trial.refused
        ],
    }


def settings_of(candidate: Candidate) -> dict[str, str]:
    """Return the configuration of a broker with the window of a candidate."""
    window = candidate.window
    values = (window.seconds,) if candidate.key == IDS else (window.count, window.seconds)
    return dict(zip(WINDOW_KEYS[candidate.key], map(str, values), strict=True))


def notes_of(traffic: Traffic, results: Mapping[str, KeyResult]) -> Iterator[str]:
    """Yield what a reader must know before using a proposal."""
    for result in results.values():
        proposal = result.proposal
        if proposal is not None and not is_covered(proposal.window, traffic):
            yield (
                f"{result.key}: the traffic is shorter than {WINDOWS_MIN} windows of"
                f" {proposal.window}, so longer traffic may require more."
            )


def tables_of(traffic: Traffic, results: Mapping[str, KeyResult]) -> Iterator[Table]:
    """Yield a table with the proposals, and one for each trial that throttles anyone."""
    table = Table(
        "quota", "proposed", "unit", "window", "required by the protected", "would throttle",
        title=f"{escape(traffic.source)}: {len(traffic):,} requests in {time_of(traffic.span_ms)}",
    )  # fmt: skip
    for result in results.values():
        proposal = result.proposal
        if proposal is None:
            table.add_row(
                result.key, "-", UNITS[result.key], "-", "no protected tenant uses it", "-"
            )
            continue
        [proposed] = [trial for trial in result.trials if trial.label == "proposed"]
        names = [escape(name_of(one.scope)) for one in proposed.refused]
        more = ", ..." if len(names) > ROWS_MAX else ""
        table.add_row(
            result.key,
            number(proposal.value),
            UNITS[result.key],
            str(proposal.window),
            number(result.required_by_protected),
            (", ".join(names[:ROWS_MAX]) or "nobody") + more,
        )
    yield table
    for result in results.values():
        for trial in result.trials:
            if trial.refused:
                yield _table_of_trial(result, trial)


def _table_of_trial(result: KeyResult, trial: Trial) -> Table:
    table = Table(
        "who", "throttled", "held", "over the quota", "in total", "longest", "first", "last",
        title=f"{trial.candidate} ({trial.label})",
    )  # fmt: skip
    for one in trial.refused[:ROWS_MAX]:
        name = escape(name_of(one.scope))
        table.add_row(
            f"[bold red]{name} (protected)[/bold red]" if one.scope in result.protected else name,
            *_cells(one, AMOUNTS[result.key]),
        )
    if len(trial.refused) > ROWS_MAX:
        table.add_row(f"and {len(trial.refused) - ROWS_MAX} more")
    return table


def _cells(one: Refused, unit: str) -> tuple[str, ...]:
    counter = one.counter
    return (
        number(counter.throttled),
        number(counter.held),
        f"{number(counter.over_quota)} {unit}",
        time_of(counter.throttle_time_total_ms),
        time_of(counter.throttle_time_max_ms),
        time_of(counter.first_ms),
        time_of(one.last_ms),
    )


def name_of(scope: Tags) -> str:
    """Return a scope as a quota entity."""
    user, client_id = scope
    names = [f"user {user}" if user else "", f"client-id {client_id}" if client_id else ""]
    return ", ".join(filter(None, names)) or "no client id"


def time_of(time_ms: int) -> str:
    """Return a time or duration as `H:MM:SS.mmm`, or in seconds below a minute."""
    seconds, ms = divmod(time_ms, 1000)
    if seconds < 60:
        return f"{time_ms / 1000:g} s"
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"


def number(value: float) -> str:
    """Return a number with up to four digits."""
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.4g}"
