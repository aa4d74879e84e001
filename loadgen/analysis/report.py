"""Render a run as one HTML page without external files."""

from collections.abc import Mapping
from typing import Any

from loadgen import page
from loadgen.analysis.checks import SHADOW_UNITS
from loadgen.analysis.measures import measure_label

_UNKNOWN = "-"
_CHARTS = {
    "rates": ("Requests per second", ""),
    "latencies": (
        "Latency of each tenant over time",
        (
            "Percentiles of each second, from the intended time of an event to the response that"
            " completes it. Events that never complete count until the end of the run."
        ),
    ),
    "heat-map": (
        "Latency of all events",
        "A stronger colour means more events of that time with that latency.",
    ),
    "measures": (
        "Latencies by percentile",
        (
            "The further to the right, the rarer. End to end is until a member of a group has"
            " received the batch."
        ),
    ),
    "lags": (
        "Lag of each group",
        "Records in the log that the group has not received; pauses of the plan are grey.",
    ),
    "ids": (
        "Producer ids",
        "First successful response of each id, and the maximum that the quota allows.",
    ),
    "users": (
        "Tokens and throttles of each user",
        (
            "Tokens as the checks compute them: the bucket starts full and refills at a constant"
            " rate. Throttle times as the responses contain them."
        ),
    ),
}
"""Title and description of each chart, in the order of the page."""


def render(summary: Mapping[str, Any], charts: Mapping[str, str], plan_text: str) -> str:
    """Return the page as HTML; `charts` are SVG by name."""
    return page.render(
        "analysis/report.html",
        {
            "number": _number,
            "percent": _percent,
            "ms": _ms,
            "seconds": _seconds,
            "time_of_day": _time_of_day,
            "measure_label": measure_label,
        },
        summary=summary,
        plan_text=plan_text,
        shadow_units=SHADOW_UNITS,
        charts=[
            (title, text, charts[name]) for name, (title, text) in _CHARTS.items() if name in charts
        ],
    )


def _number(value: float | None, digits: int = 0) -> str:
    return _UNKNOWN if value is None else f"{value:,.{digits}f}"


def _percent(percent: float | None) -> str:
    return _UNKNOWN if percent is None else f"{percent:.0f} %"


def _ms(time_us: float | None, digits: int = 2) -> str:
    return _number(None if time_us is None else time_us / 1000, digits)


def _seconds(time_us: float | None) -> str:
    return _number(None if time_us is None else time_us / 1e6, 2)


def _time_of_day(time_ms: int) -> str:
    seconds, ms = divmod(time_ms, 1000)
    return f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"
