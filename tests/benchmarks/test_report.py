"""Medians are compared with bars, ratios use rdmock's medians, and busy rounds run again."""

from collections.abc import Mapping

import pytest

from benchmarks import report
from benchmarks.report import Bar, Figures, Measurement
from benchmarks.server_process import ServerName


def _never(_server: ServerName) -> Mapping[str, float]:
    raise AssertionError("not run here")


def _no_wait() -> None:
    pass


def test_the_median_is_judged_not_the_best_round() -> None:
    measurement = Measurement("m", "c", _never, (Bar("cost_us", "at most", 20),))
    results: dict[ServerName, list[Figures]] = {
        "ours": [{"cost_us": 19.0}, {"cost_us": 21.0}, {"cost_us": 22.0}]
    }

    (line,) = report.lines(measurement, results, "scripts/bench m")

    assert line["figures"]["cost_us"] == {"median": 21.0, "min": 19.0, "max": 22.0}
    assert line["met"] is False


@pytest.mark.parametrize(("ours", "met"), [(90.0, True), (89.0, False)])
def test_a_ratio_is_our_median_divided_by_rdmocks(ours: float, met: bool) -> None:
    bar = Bar("records_per_s", "at least", 0.9, is_ratio=True)
    measurement = Measurement("m", "c", _never, (bar,))
    results: dict[ServerName, list[Figures]] = {
        "ours": [{"records_per_s": ours}],
        "rdmock": [{"records_per_s": 100.0}],
    }

    lines = report.lines(measurement, results, "scripts/bench m")

    assert [line["server"] for line in lines] == ["ours", "rdmock"]
    assert lines[0]["met"] is met
    ratio = ours / 100
    assert lines[0]["ratio_ours_to_rdmock"] == {
        "records_per_s": {"median": ratio, "min": ratio, "max": ratio}
    }
    assert lines[0]["ratio_ours_to_kfake"] == {}
    assert "met" not in lines[1]


def test_a_ratio_to_kfake_is_judged_by_kfakes_median() -> None:
    bar = Bar("cost_us", "at most", 1.5, is_ratio=True, rival="kfake")
    measurement = Measurement("m", "c", _never, (bar,))
    results: dict[ServerName, list[Figures]] = {
        "ours": [{"cost_us": 32.0}],
        "rdmock": [{"cost_us": 32.0}],
        "kfake": [{"cost_us": 20.0}],
    }

    ours, *_rivals = report.lines(measurement, results, "scripts/bench m")

    assert ours["bars"] == [
        {
            "of": "ratio ours/kfake",
            "figure": "cost_us",
            "bar": "at most 1.5",
            "value": 1.6,
            "met": False,
        }
    ]


def test_a_ratio_without_a_rival_has_no_verdict() -> None:
    bar = Bar("records_per_s", "at least", 0.9, is_ratio=True)
    measurement = Measurement("m", "c", _never, (bar,))

    (line,) = report.lines(measurement, {"ours": [{"records_per_s": 90.0}]}, "scripts/bench m")

    assert line["met"] is None


def test_servers_alternate_and_a_disturbed_round_is_run_again() -> None:
    order: list[ServerName] = []
    shares = iter([0.0, 0.5, 0.05, 0.0, 0.0])

    def run(server: ServerName) -> Mapping[str, float]:
        order.append(server)
        return {"other_cpu_share": next(shares)}

    results = report.measure(Measurement("m", "c", run), ("ours", "rdmock"), 2, wait=_no_wait)

    assert order == ["ours", "rdmock", "rdmock", "ours", "rdmock"]
    assert results["rdmock"][0] == {"other_cpu_share": 0.05}


def test_on_a_machine_that_is_never_quiet_the_quietest_attempt_counts() -> None:
    shares = iter([0.9, 0.4, 0.6, 0.8])

    def run(_server: ServerName) -> Mapping[str, float]:
        return {"other_cpu_share": next(shares)}

    measurement = Measurement("m", "c", run)
    results = report.measure(measurement, ("ours",), 1, wait=_no_wait)

    assert results["ours"] == [{"other_cpu_share": 0.4}]
    (line,) = report.lines(measurement, results, "scripts/bench m")
    assert line["disturbed_rounds"] == 1
