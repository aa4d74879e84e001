"""Charts of a comparison as SVG: each panel has the curves of all sides."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from loadgen.comparison.differences import Side
from loadgen.svg_chart import BLUE, GREEN, GRID, PURPLE, RED, YELLOW, svg_of

_COLOURS = (BLUE, RED, YELLOW, PURPLE, GREEN, "#666666")
_WIDTH, _PANEL_HEIGHT = 9.0, 2.2
_COLUMNS = 2
_TIME = "seconds from the start of the measured part"


def draw(sides: Sequence[Side]) -> dict[str, str]:
    """Return the charts by name; one without data is left out."""
    tenants = sorted(
        {row["tenant"] for side in sides for run in side.runs for row in run.series["seconds"]}
    )
    keys = sorted({key for side in sides for run in side.runs for key in run.apis})
    found = {}
    if tenants:
        found["rates"] = _over_time(sides, tenants, "seconds", "responded", "responses per second")
        found["latencies"] = _over_time(sides, tenants, "latencies", "p99_ms", "p99 in ms")
        for name in ("errors", "throttled"):
            if _has_any(sides, name):
                found[name] = _over_time(sides, tenants, "seconds", name, f"{name} per second")
    if keys:
        found["distributions"] = _distributions(sides, keys)
    return found


def _has_any(sides: Sequence[Side], name: str) -> bool:
    return any(row[name] for side in sides for run in side.runs for row in run.series["seconds"])


def _panels(titles: Sequence[str], side_count: int) -> tuple[Figure, list[Axes]]:
    columns = min(_COLUMNS, len(titles))
    lines = ceil(len(titles) / columns)
    figure = Figure(
        figsize=(_WIDTH, _PANEL_HEIGHT * lines + 0.4 + 0.2 * side_count),
        layout="constrained",
    )
    panels = list(figure.subplots(lines, columns, squeeze=False).flat)
    for axes, title in zip(panels, titles, strict=False):
        for edge in ("top", "right"):
            axes.spines[edge].set_visible(False)
        axes.grid(visible=True, color=GRID, linewidth=0.6)
        axes.tick_params(labelsize=8)
        axes.set_title(title, loc="left", fontsize=9, fontweight="bold")
    for axes in panels[len(titles) :]:
        axes.set_visible(False)
    return figure, panels[: len(titles)]


def _svg(name: str, figure: Figure, first: Axes, x_label: str, y_label: str) -> str:
    figure.supxlabel(x_label, fontsize=9)
    figure.supylabel(y_label, fontsize=9)
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=8, loc="outside upper right")
    return svg_of(figure, name)


def _over_time(
    sides: Sequence[Side], tenants: Sequence[str], series: str, name: str, label: str
) -> str:
    """Draw the mean of each side over its seeds, and the range of the seeds as a band."""
    figure, panels = _panels(tenants, len(sides))
    value = _VALUES[name]
    for axes, tenant in zip(panels, tenants, strict=True):
        for index, side in enumerate(sides):
            by_second: dict[int, list[float]] = {}
            for run in side.runs:
                for row in run.series[series]:
                    if row["tenant"] == tenant and 0 <= row["second"] < run.measured_s:
                        by_second.setdefault(row["second"], []).append(value(row))
            seconds = sorted(by_second)
            middles = [second + 0.5 for second in seconds]
            values = [by_second[second] for second in seconds]
            colour = _COLOURS[index % len(_COLOURS)]
            axes.plot(
                middles,
                list(map(fmean, values)),
                color=colour,
                label=side.name,
                marker="." if len(middles) < 30 else None,
            )
            axes.fill_between(
                middles, list(map(min, values)), list(map(max, values)), color=colour, alpha=0.15
            )
        axes.set_ylim(bottom=0)
    return _svg(name, figure, panels[0], _TIME, label)


_VALUES: Mapping[str, Callable[[Mapping[str, Any]], float]] = {
    "responded": lambda row: row["responded"],
    "errors": lambda row: row["errors"],
    "throttled": lambda row: row["throttled"],
    "p99_ms": lambda row: row["response_us"][2] / 1000,
}


def _distributions(sides: Sequence[Side], keys: Sequence[tuple[str, str]]) -> str:
    """Draw the distribution of latency in each run; the runs of a side have one colour."""
    figure, panels = _panels([f"{tenant}: {api}" for tenant, api in keys], len(sides))
    for axes, key in zip(panels, keys, strict=True):
        for index, side in enumerate(sides):
            for number, run in enumerate(side.runs):
                latencies_ms, shares = run.apis[key].curve() if key in run.apis else ([], [])
                axes.plot(
                    latencies_ms,
                    shares,
                    color=_COLOURS[index % len(_COLOURS)],
                    label=None if number else side.name,
                    linewidth=1.2,
                )
        axes.set_xscale("log")
        axes.set_ylim(0, 1)
    return _svg(
        "distributions", figure, panels[0], "ms from the intended time", "share of responses"
    )
