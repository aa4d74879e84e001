"""Each chart with data is drawn, and no other."""

import re
from typing import Any

import pytest
from matplotlib.axes import Axes
from msgspec.structs import replace

from loadgen.analysis.charts import _buckets, _heat, _rates, _throttles_by_user, draw
from tests.loadgen.summaries import CONFIG, PLAN, summary_of


@pytest.mark.slow
def test_each_series_has_a_chart() -> None:
    charts = draw(summary_of(), PLAN, CONFIG)
    assert set(charts) == {"rates", "latencies", "heat-map", "lags", "measures", "users", "ids"}
    assert all(svg.startswith("<svg ") for svg in charts.values())
    # Any other colour would stay as it is in the dark scheme.
    styles = re.findall(r'style="[^"]*"', "".join(charts.values()))
    assert not [style for style in styles if "#" in style.replace("url(#", "")]


def test_throttles_are_drawn_without_quotas() -> None:
    charts = draw(summary_of(), replace(PLAN, quotas=()), CONFIG)
    assert set(charts) == {"rates", "latencies", "heat-map", "lags", "measures", "users"}


def test_each_user_has_the_buckets_of_the_plan() -> None:
    buckets = _buckets(summary_of()["series"], PLAN, CONFIG)
    assert {user: [bucket.name for bucket in own] for user, own in buckets.items()} == {
        "<i>": ["producer ids: 2 per 10 s, at the busiest broker"],
        "client id maker": ["topic mutations: 1/s, 11 at once (client id maker)"],
    }
    [ids], [mutations] = buckets.values()
    # Two ids at two brokers count as one at the busiest; the mutations are charged at once.
    assert min(level for _, level in ids.corners) == 1
    assert min(level for _, level in mutations.corners) == 11 - 3


def test_a_users_throttle_is_the_longest_of_all_of_its_tenants() -> None:
    seconds = [
        {"second": 0, "tenant": "writer", "throttle_max_ms": 400},
        {"second": 0, "tenant": "maker", "throttle_max_ms": None},
        {"second": 0, "tenant": "other", "throttle_max_ms": 900},
        {"second": 1, "tenant": "writer", "throttle_max_ms": 0},
    ]
    other = replace(PLAN.tenants[0], name="other")
    plan = replace(PLAN, tenants=(*PLAN.tenants, other))
    assert _throttles_by_user(seconds, plan) == {"<i>": [(0.5, 900), (1.5, 0)]}


def test_a_run_without_requests_has_no_charts() -> None:
    names = ("seconds", "latencies", "lags", "ids", "mutations")
    empty: dict[str, Any] = {"heat": {}, **{name: [] for name in names}}
    assert draw(summary_of(series=empty, latencies=[]), PLAN, CONFIG) == {}


def test_the_top_of_the_heat_map_says_that_it_has_all_longer_latencies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels: list[str] = []

    def recording(_axes: Axes, _ticks: object, texts: list[str]) -> None:
        labels.extend(texts)

    monkeypatch.setattr(Axes, "set_yticks", recording)
    _heat(summary_of()["series"]["heat"], PLAN, ())
    assert (labels[0], labels[-1]) == ("0", "2,642 and more")


def test_the_seconds_in_which_a_broker_is_away_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    marked: list[tuple[float, float]] = []

    def recording(_axes: Axes, start: float, end: float, **_: object) -> None:
        marked.append((start, end))

    monkeypatch.setattr(Axes, "axvspan", recording)
    second = {"tenant": "writer", "requests": 5, "errors": 0, "unreachable": 0}
    seconds = [second | {"second": 0}, second | {"second": 1, "requests": 0, "unreachable": 3}]
    _rates(seconds, PLAN, ())
    assert marked == [(1, 2)]
