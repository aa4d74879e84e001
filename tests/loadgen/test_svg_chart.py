"""A chart is an SVG element whose colours follow the colour scheme."""

import re
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from loadgen.svg_chart import _DARK, COLOURS, GRID, INK, LABEL, PALE, svg_of

CONTRAST_MIN = 3.0
"""Of graphics beside their background, by WCAG 2.1."""


def figure_of(label: str) -> Figure:
    figure = Figure()
    axes = figure.subplots()
    for colour in COLOURS:
        axes.plot([0, 1], [1, 2], color=colour, marker=".", label=label)
    axes.axhspan(0, 1, color=PALE)
    axes.grid(color=GRID)
    axes.text(0, 0, label, color=LABEL)
    axes.imshow([[1.0, 2.0]], interpolation="none")
    axes.legend(frameon=False)
    return figure


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_colour_is_a_variable_with_a_value_in_both_schemes() -> None:
    svg = svg_of(figure_of("a"), "chart")
    style = svg[svg.index("<style>") : svg.index("</style>")]
    drawn = re.findall(r'style="[^"]*"', svg)
    assert not [text for text in drawn if re.search("#[0-9a-f]{6}", text)]
    for variable in set(re.findall(r"var\((--c[0-9a-f]{6})\)", svg)):
        assert style.count(f"{variable}:") == 2
    assert "prefers-color-scheme:dark" in style


@pytest.mark.parametrize("colour", ["#000000", INK, LABEL, *COLOURS])
def test_lines_and_text_differ_from_the_background_in_the_dark_scheme(colour: str) -> None:
    assert contrast(_DARK[colour], _DARK["#ffffff"]) > CONTRAST_MIN


def test_charts_of_a_page_share_no_id() -> None:
    first, second = (
        {node.get("id") for node in ElementTree.fromstring(svg_of(figure_of("a"), name)).iter()}
        for name in ("first", "second")
    )
    assert len(first) > 1
    assert first & second == {None}


def test_text_of_a_label_stays_as_it_is() -> None:
    root = ElementTree.fromstring(svg_of(figure_of("<b> & #2f6f9f"), "chart"))
    assert "<b> & #2f6f9f" in {node.text for node in root.iter()}


def test_the_same_chart_has_the_same_bytes() -> None:
    assert svg_of(figure_of("a"), "chart") == svg_of(figure_of("a"), "chart")
