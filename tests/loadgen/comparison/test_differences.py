"""A change is one whose whole interval is beyond the tolerance."""

from collections.abc import Sequence
from pathlib import Path

from loadgen.comparison.differences import Change, Limits, Side, changes, verdict_changes
from loadgen.comparison.run_figures import RunFigures
from tests.loadgen.comparison.made_runs import VERDICT, side


def words(found: Sequence[Change]) -> dict[str, str]:
    return {change.metric.name: change.word for change in found}


def test_latency_that_grew_by_half_is_worse_and_its_interval_has_the_growth(tmp_path: Path) -> None:
    found = changes(side(tmp_path / "a"), side(tmp_path / "b", 1.5), Limits())
    by_name = {change.metric.name: change for change in found}
    for name in ("p50 latency", "p90 latency", "p99 latency"):
        change = by_name[name]
        assert change.word == "worse"
        assert change.before is not None
        assert change.interval is not None
        assert change.interval.low / change.before <= 0.5 + 0.02
        assert change.interval.high / change.before >= 0.5 - 0.02
    assert by_name["successful responses"].word == "unchanged"


def test_latency_that_fell_is_better(tmp_path: Path) -> None:
    found = changes(side(tmp_path / "a", 1.5), side(tmp_path / "b"), Limits())
    assert words(found)["p50 latency"] == "better"


def test_equal_runs_are_unchanged_in_every_metric(tmp_path: Path) -> None:
    found = changes(side(tmp_path / "a"), side(tmp_path / "b"), Limits())
    assert set(words(found).values()) == {"unchanged"}


def test_errors_and_throttles_are_judged_in_points(tmp_path: Path) -> None:
    before, after = side(tmp_path / "a"), side(tmp_path / "b", errors=30, throttled=5)
    found = words(changes(before, after, Limits()))
    assert found["errors or no response"] == "worse"
    assert found["throttled"] == "unchanged"  # 0.5 points
    assert words(changes(before, after, Limits(points=0.1)))["throttled"] == "worse"


def test_one_seed_has_no_interval(tmp_path: Path) -> None:
    before, after = side(tmp_path / "a"), side(tmp_path / "b", 9.0)
    one = Side("b", after.runs[:1])
    assert set(words(changes(before, one, Limits())).values()) == {"no interval"}


def test_a_tenant_that_no_longer_gets_responses_is_worse(tmp_path: Path) -> None:
    before = side(tmp_path / "a")
    silent = Side("b", [_without_rows(run) for run in side(tmp_path / "b").runs])
    found = words(changes(before, silent, Limits()))
    assert found["successful responses"] == "worse"
    assert found["p50 latency"] == "no data"


def _without_rows(run: RunFigures) -> RunFigures:
    return RunFigures(
        run.path, run.plan, run.seed, run.is_complete, run.measured_s, run.verdicts, run.series, {}
    )


def test_a_check_that_fails_only_afterwards_is_worse_and_comes_first(tmp_path: Path) -> None:
    before, after = side(tmp_path / "a"), side(tmp_path / "b")
    after.runs[1].verdicts[:] = [VERDICT | {"verdict": "failed"}]
    first, second = verdict_changes(before, after)
    assert first.is_worse
    assert (first.check, first.before) == ("stored once", "3 passed")
    assert first.after == "1 failed, 2 passed"
    assert not second.is_worse
    assert not any(verdict.is_worse for verdict in verdict_changes(after, before))
