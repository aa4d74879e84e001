"""Charts as SVG, whose colours follow the colour scheme of the page or viewer."""

import re
from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING

from matplotlib import rc_context

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, GREEN, YELLOW, PURPLE, RED = "#2f6f9f", "#3f8f5f", "#e2a03f", "#7a5195", "#d1495b"
COLOURS = (BLUE, GREEN, YELLOW, PURPLE, "#5b8e9b", "#9c6644", "#c2679b", "#666666")
INK, LABEL, GRID, PALE, GROUND = "#333333", "#888888", "#dddddd", "#f2f2f2", "#ffffff"
_DARK = {
    "#000000": "#e3e3e3",
    GROUND: "#1d2025",
    INK: "#c8c8c8",
    LABEL: "#9a9a9a",
    GRID: "#3a3e45",
    PALE: "#292d33",
    BLUE: "#68a9d8",
    "#9dbdd3": "#3f6d8e",
    GREEN: "#63bd86",
    YELLOW: "#e8b25f",
    PURPLE: "#b58ad0",
    "#5b8e9b": "#86bccb",
    "#9c6644": "#cf9872",
    "#c2679b": "#df92bb",
    "#666666": "#a3a3a3",
    RED: "#ec7483",
    "#999999": "#858585",
}
"""Each colour of a chart, and what it is in the dark scheme."""


def _rules(colour_of: Callable[[str], str]) -> str:
    return "".join(f"--c{light[1:]}:{colour_of(light)};" for light in _DARK)


_STYLE = (
    "<style>"
    f".chart{{{_rules(str)}background:var(--cffffff);color:var(--c000000)}}"
    f"@media(prefers-color-scheme:dark){{.chart{{{_rules(_DARK.__getitem__)}}}}}"
    '.chart text{fill:currentColor;font-family:system-ui,"DejaVu Sans",sans-serif}'
    "</style>"
)
_ATTRIBUTE = re.compile(r'style="[^"]*"')
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_ID = re.compile(r' id="([^"]+)"')
_REFERENCE = re.compile(r'(?:url\(#|href="#)([^")]+)')


def svg_of(figure: "Figure", name: str) -> str:
    """Return a figure as an SVG element that a page may contain among others.

    `name` is that of the chart in its page: it makes the ids in the element different from those of
    other charts.
    """
    content = StringIO()
    for axes in figure.axes:
        axes.patch.set_visible(False)
    figure.patch.set_visible(False)
    none = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(content, format="svg", metadata=none)
    text = content.getvalue()
    text = text[text.index("<svg") :]
    used = set(_REFERENCE.findall(text))
    text = _ID.sub(lambda found: found[0] if found[1] in used else "", text)
    text = _ATTRIBUTE.sub(lambda found: _COLOUR.sub(_variable, found[0]), text)
    begin, end, rest = text.partition(">")
    return f'{begin} class="chart"{end}{_STYLE}{rest}'


def _variable(colour: re.Match[str]) -> str:
    return f"var(--c{colour[0][1:]})" if colour[0] in _DARK else colour[0]
