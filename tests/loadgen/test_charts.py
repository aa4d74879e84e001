"""Charts are drawn of what there is, and of nothing else."""

from dataclasses import replace
from typing import Any

from loadgen.charts import draw
from tests.loadgen.summaries import CONFIG, PLAN, summary_of

PNG = b"\x89PNG\r\n\x1a\n"


def test_every_series_has_its_chart() -> None:
    charts = draw(summary_of(), PLAN, CONFIG)
    assert set(charts) == {"rates", "latencies", "heat-map", "throttles", "tokens", "ids"}
    assert all(png.startswith(PNG) for png in charts.values())


def test_without_quotas_there_is_nothing_to_draw_of_them() -> None:
    charts = draw(summary_of(), replace(PLAN, quotas=()), CONFIG)
    assert set(charts) == {"rates", "latencies", "heat-map", "throttles"}


def test_a_run_in_which_nothing_happened_has_no_charts() -> None:
    empty: dict[str, Any] = {"seconds": [], "latencies": [], "heat": {}, "ids": [], "mutations": []}
    assert draw(summary_of(series=empty), PLAN, CONFIG) == {}
