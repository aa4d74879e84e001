"""Each chart has the curves of both sides."""

from pathlib import Path

import pytest
from matplotlib.axes import Axes

from loadgen.comparison.comparison_charts import _panels, draw
from loadgen.comparison.differences import Side
from tests.loadgen.comparison.made_runs import side

pytestmark = pytest.mark.slow


def test_each_chart_has_a_curve_of_each_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels: list[str] = []
    plot = Axes.plot

    def recording(axes: Axes, *values: object, **options: object) -> object:
        labels.append(str(options["label"]))
        return plot(axes, *values, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Axes, "plot", recording)
    charts = draw([side(tmp_path / "old"), side(tmp_path / "new", 2.0)])
    assert sorted(charts) == ["distributions", "latencies", "rates"]
    assert all(svg.startswith("<svg ") for svg in charts.values())
    assert labels.count("old") == labels.count("new") == 3


def test_errors_and_throttles_of_one_side_are_drawn_for_both(tmp_path: Path) -> None:
    charts = draw([side(tmp_path / "old"), side(tmp_path / "new", errors=3)])
    assert sorted(charts) == ["distributions", "errors", "latencies", "rates"]
    charts = draw([side(tmp_path / "a", throttled=2), side(tmp_path / "b")])
    assert sorted(charts) == ["distributions", "latencies", "rates", "throttled"]


def test_five_panels_leave_no_empty_one() -> None:
    figure, panels = _panels(list("abcde"), 2)
    assert [axes.get_title(loc="left") for axes in panels] == list("abcde")
    assert [axes.get_visible() for axes in figure.axes] == [True] * 5 + [False]


def test_runs_without_rows_have_no_charts() -> None:
    assert draw([Side("a", []), Side("b", [])]) == {}
