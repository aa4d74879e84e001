"""The chart has the curve of the latency, the objective, and the knee."""

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from loadgen.limit_search.bisection import Bracket
from loadgen.limit_search.limit_chart import draw
from tests.loadgen.limit_search.searches import probe, search

pytestmark = pytest.mark.slow


def drawn(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> list[Axes]:
    figures: list[Figure] = []
    save = Figure.savefig

    def saved(figure: Figure, *values: Any, **options: Any) -> None:
        figures.append(figure)
        save(figure, *values, **options)

    monkeypatch.setattr(Figure, "savefig", saved)
    assert draw(search(*arguments)).startswith("<svg ")  # type: ignore[arg-type]
    return list(figures[0].axes)


def test_the_knee_is_marked_in_both_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    panels = drawn(monkeypatch)
    for axes in panels:
        labels = axes.get_legend_handles_labels()[1]
        assert "knee: 200 events/s" in labels
    [p99] = [line for line in panels[0].lines if line.get_label() == "p99"]
    assert np.asarray(p99.get_xdata()).tolist() == [100, 200, 210, 400]
    assert np.asarray(p99.get_ydata()).tolist() == [3, 3, 70, 900]
    assert "p99=50ms" in panels[0].get_legend_handles_labels()[1]


def test_shares_have_a_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, shares = drawn(monkeypatch)
    labels = shares.get_legend_handles_labels()[1]
    assert labels == ["errors", "throttled", "knee: 200 events/s"]


def test_a_search_without_a_limit_has_a_curve_and_no_knee(monkeypatch: pytest.MonkeyPatch) -> None:
    panels = drawn(monkeypatch, Bracket(400, None), probe(1, 400))
    assert panels[0].get_legend_handles_labels()[1] == ["p99", "p50", "p99=50ms"]
