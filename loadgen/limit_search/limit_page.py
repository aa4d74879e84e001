"""Render a search as one HTML page without external files, and as a table on the terminal."""

from rich.markup import escape
from rich.table import Table

from loadgen import page
from loadgen.limit_search.probes import Search

_COLOURS = {"held": "green", "broke": "bold red", "invalid": "yellow"}


def render(search: Search, chart: str) -> str:
    """Return the page as HTML; `chart` is SVG."""
    return page.render(
        "limit_search/limit.html",
        {"number": number},
        search=search,
        chart=chart,
    )


def table_of(search: Search) -> Table:
    """Return the probes as a table, ordered by value."""
    unit = search.dimension.unit
    table = Table(
        unit, "", "p50 ms", "p99 ms", "responses/s", "errors %", "throttled %", "why",
        title=search.conclusion,
    )  # fmt: skip
    for probe in sorted(search.probes, key=lambda probe: (probe.value, probe.number)):
        colour = _COLOURS[probe.outcome]
        figures = (
            probe.p50_ms,
            probe.p99_ms,
            probe.responses_per_s,
            probe.errors_percent,
            probe.throttled_percent,
        )
        table.add_row(
            number(probe.value),
            f"[{colour}]{probe.outcome}[/{colour}]",
            *map(number, figures),
            escape("; ".join(probe.reasons)),
        )
    return table


def number(value: float | None) -> str:
    """Return a number with four digits."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
