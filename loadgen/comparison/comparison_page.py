"""Render a comparison as one HTML page without external files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadgen import page
from loadgen.comparison.differences import Change, Limits, Side, VerdictChange

_CHARTS = {
    "rates": ("Responses per second", "Mean over the seeds; the band is their range."),
    "latencies": (
        "Latency of events, p99 of each second",
        (
            "From the intended time of an event to the response that completes it. Mean over the"
            " seeds; the band is their range."
        ),
    ),
    "errors": ("Errors per second", "Mean over the seeds; the band is their range."),
    "throttled": (
        "Throttled responses per second",
        "Responses with a throttle time. Mean over the seeds; the band is their range.",
    ),
    "distributions": (
        "Distribution of latency",
        "From the intended time of a request to its response; one line for each seed.",
    ),
}
"""Title and description of each chart, in the order of the page."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One side beside the first one."""

    before: Side
    after: Side
    changes: Sequence[Change]
    verdicts: Sequence[VerdictChange]


def render(
    comparisons: Sequence[Comparison],
    charts: Mapping[str, str],
    limits: Limits,
    notes: Sequence[str],
) -> str:
    """Return the page as HTML; `charts` are SVG by name."""
    return page.render(
        "comparison/comparison.html",
        {"value": _value, "difference": difference, "interval": interval},
        comparisons=comparisons,
        sides=[comparisons[0].before, *(comparison.after for comparison in comparisons)],
        limits=limits,
        notes=notes,
        charts=[
            (title, text, charts[name]) for name, (title, text) in _CHARTS.items() if name in charts
        ],
    )


def _value(value: float | None, unit: str) -> str:
    return (
        "-" if value is None else f"{value:,.3g} {unit}" if value < 100 else f"{value:,.0f} {unit}"
    )


def difference(change: Change) -> str:
    """Return the change of the mean: in points for a share, else in percent of the mean before."""
    if change.before is None or change.after is None:
        return "-"
    return _relative(change, change.after - change.before)


def interval(change: Change) -> str:
    """Return the confidence interval of the change, in the unit of `difference`."""
    if change.interval is None:
        return "-"
    low, high = change.interval
    return f"{_relative(change, low)} to {_relative(change, high)}"


def _relative(change: Change, amount: float) -> str:
    if change.metric.is_share:
        return f"{amount:+.2f} points"
    if not change.before:
        return f"{amount:+.3g} {change.metric.unit}"
    return f"{100 * amount / change.before:+.1f} %"
