"""The curve of a search as SVG: latency and responses over the value that was raised."""

from collections.abc import Callable, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from loadgen.limit_search.objectives import PERCENTILES
from loadgen.limit_search.probes import Probe, Search
from loadgen.svg_chart import BLUE, GREEN, GRID, PURPLE, RED, YELLOW, svg_of

_MARKS = {"held": (GREEN, "o"), "broke": (RED, "X"), "invalid": ("#999999", "s")}
_SHARES: Mapping[str, tuple[Callable[[Probe], float | None], str]] = {
    "errors": (lambda probe: probe.errors_percent, PURPLE),
    "throttled": (lambda probe: probe.throttled_percent, YELLOW),
}
_WIDTH, _HEIGHT = 9.0, 2.8


def draw(search: Search) -> str:
    """Return the chart of a search with at least one probe."""
    shares = _shares(search)
    figure = Figure(figsize=(_WIDTH, 2 * _HEIGHT + bool(shares) * _HEIGHT), layout="constrained")
    panels = figure.subplots(2 + bool(shares), 1, sharex=True)
    latency, rate = panels[:2]
    _curve(latency, search, "p99", lambda probe: probe.p99_ms, BLUE)
    _curve(latency, search, "p50", lambda probe: probe.p50_ms, "#9dbdd3")
    latency.set_yscale("log")
    formatter = FuncFormatter(lambda value, _: f"{value:g}")
    latency.yaxis.set_major_formatter(formatter)
    latency.yaxis.set_minor_formatter(formatter)
    latency.set_ylabel("latency in ms, worst tenant", fontsize=9)
    for objective in search.objectives:
        if objective.name in PERCENTILES:
            latency.axhline(objective.limit, color=YELLOW, linestyle="--", label=str(objective))
    _curve(rate, search, "responses per second", lambda probe: probe.responses_per_s, BLUE)
    rate.set_ylim(0, 1.1 * max(probe.responses_per_s for probe in search.probes) or 1)
    rate.set_ylabel("responses per second", fontsize=9)
    for name, (value, colour) in shares.items():
        _curve(panels[2], search, name, value, colour)
        panels[2].set_ylim(-5, 105)
        panels[2].set_ylabel("% of requests, worst tenant", fontsize=9)
    panels[-1].set_xlabel(f"{search.dimension.name} in {search.dimension.unit}", fontsize=9)
    for axes in panels:
        _decorate(axes, search)
    return svg_of(figure, "limit")


def _shares(search: Search) -> dict[str, tuple[Callable[[Probe], float | None], str]]:
    """Return the shares that an objective is about, or that are above 0."""
    judged = {objective.name for objective in search.objectives}
    return {
        name: (value, colour)
        for name, (value, colour) in _SHARES.items()
        if name in judged or any(value(probe) for probe in search.probes)
    }


def _curve(
    axes: Axes, search: Search, label: str, value: Callable[[Probe], float | None], colour: str
) -> None:
    """Draw the mean of the probes of each value as a line, and each probe as a mark."""
    found: dict[float, list[float]] = {}
    for probe in search.probes:
        measured = value(probe)
        if measured is not None:
            found.setdefault(probe.value, []).append(measured)
            mark_colour, mark = _MARKS[probe.outcome]
            axes.plot(
                [probe.value], [measured], linestyle="", marker=mark, color=mark_colour, zorder=3
            )
    values = sorted(found)
    means = [sum(found[value]) / len(found[value]) for value in values]
    axes.plot(values, means, color=colour, label=label)


def _decorate(axes: Axes, search: Search) -> None:
    bracket = search.bracket
    if bracket is not None and bracket.held is not None and bracket.broke is not None:
        axes.axvspan(bracket.held, bracket.broke, color=RED, alpha=0.12)
        axes.axvline(bracket.held, color=RED, label=f"knee: {search.in_unit(bracket.held)}")
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, which="both")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.legend(frameon=False, fontsize=8)
