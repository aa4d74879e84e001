"""Judge the changes between two sides, each of which is one plan with one or more seeds."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from loadgen.analysis.checks import THIS_RUN
from loadgen.comparison.intervals import Interval, paired_interval, welch_interval
from loadgen.comparison.run_figures import ApiFigures, RunFigures

Word = Literal["worse", "better", "unchanged", "unclear", "no interval", "no data"]
_COMPLETE = "the run is complete"


@dataclass(frozen=True, slots=True)
class Side:
    """The runs that are compared together: the same load with different seeds."""

    name: str
    runs: Sequence[RunFigures]

    @property
    def was_late(self) -> bool:
        """Whether the load generator failed its own check, so that figures are not reliable."""
        return any(
            verdict["verdict"] == "failed" and verdict["scope"] == THIS_RUN
            for run in self.runs
            for verdict in run.verdicts
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """What counts as a change."""

    confidence: float = 0.95
    tolerance: float = 0.1
    """Of rates, latencies and throttle times, as a share of the mean before."""
    points: float = 1.0
    """Of errors and throttled requests, in percentage points."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of one tenant and API in one run."""

    name: str
    unit: str
    value: Callable[[ApiFigures, float], float | None]
    """From the figures and the measured seconds; None without data."""
    more_is_worse: bool = True

    @property
    def is_share(self) -> bool:
        """Whether it is a percentage, so that its change is in points."""
        return self.unit == "%"


def _percentile_ms(share: float) -> Callable[[ApiFigures, float], float | None]:
    def value(figures: ApiFigures, _measured_s: float) -> float | None:
        found_us = figures.percentile_us(share)
        return None if found_us is None else found_us / 1000

    return value


METRICS = (
    Metric(
        "successful responses",
        "/s",
        lambda figures, measured_s: figures.successful / measured_s if measured_s else None,
        more_is_worse=False,
    ),
    *(
        Metric(f"p{share * 100:g} latency", "ms", _percentile_ms(share))
        for share in (0.5, 0.9, 0.99, 0.999)
    ),
    Metric(
        "errors or no response",
        "%",
        lambda figures, _: (
            100 * (1 - figures.successful / figures.requests) if figures.requests else None
        ),
    ),
    Metric(
        "throttled",
        "%",
        lambda figures, _: 100 * figures.throttled / figures.requests if figures.requests else None,
    ),
    Metric(
        "throttle time per request",
        "ms",
        lambda figures, _: (
            figures.throttle_time_ms / figures.requests if figures.requests else None
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one metric of one tenant and API."""

    tenant: str
    api: str
    metric: Metric
    before: float | None
    after: float | None
    """Means over the seeds."""
    interval: Interval | None
    """Of the difference, in the metric's unit."""
    word: Word


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """How often each verdict of a check was found on each side."""

    check: str
    scope: str
    before: str
    after: str
    """For example `2 passed, 1 failed`."""
    is_worse: bool
    """Whether it failed in no run before, and in one after; a late generator says nothing."""


def changes(before: Side, after: Side, limits: Limits) -> list[Change]:
    """Return the changes of each metric, ordered by tenant and API."""
    keys = sorted({key for side in (before, after) for run in side.runs for key in run.apis})
    return [
        _change(tenant, api, metric, (before, after), limits)
        for tenant, api in keys
        for metric in METRICS
    ]


def _change(
    tenant: str, api: str, metric: Metric, sides: tuple[Side, Side], limits: Limits
) -> Change:
    missing = ApiFigures()
    old, new = (
        {
            run.path: (run.seed, metric.value(run.apis.get((tenant, api), missing), run.measured_s))
            for run in side.runs
        }
        for side in sides
    )
    before, after = (
        [(seed, value) for seed, value in side.values() if value is not None] for side in (old, new)
    )
    if len(before) < len(old) or len(after) < len(new):
        means = [fmean(v for _, v in side) if side else None for side in (before, after)]
        return Change(tenant, api, metric, means[0], means[1], None, "no data")
    interval = _interval(before, after, limits.confidence)
    mean_before, mean_after = (fmean(value for _, value in side) for side in (before, after))
    margin = limits.points if metric.is_share else limits.tolerance * mean_before
    word = _word(interval, margin, more_is_worse=metric.more_is_worse)
    return Change(tenant, api, metric, mean_before, mean_after, interval, word)


def _interval(
    before: list[tuple[int, float]], after: list[tuple[int, float]], confidence: float
) -> Interval | None:
    """Pair the runs by seed if both sides have the same ones: they had the same schedule."""
    before, after = sorted(before), sorted(after)
    seeds = [seed for seed, _ in before]
    values = [value for _, value in before], [value for _, value in after]
    is_paired = seeds == [seed for seed, _ in after] and len(set(seeds)) == len(seeds)
    return (paired_interval if is_paired else welch_interval)(*values, confidence)


def _word(interval: Interval | None, margin: float, *, more_is_worse: bool) -> Word:
    if interval is None:
        return "no interval"
    if interval.low > margin:
        return "worse" if more_is_worse else "better"
    if interval.high < -margin:
        return "better" if more_is_worse else "worse"
    is_within = interval.low >= -margin and interval.high <= margin
    return "unchanged" if is_within else "unclear"


def verdict_changes(before: Side, after: Side) -> list[VerdictChange]:
    """Return the verdicts of all checks side by side, those that became worse first."""
    old, new = _verdicts(before), _verdicts(after)
    found = [
        VerdictChange(
            check,
            scope,
            _described(old.get((check, scope))),
            _described(new.get((check, scope))),
            scope != THIS_RUN
            and _has_failed(new, (check, scope))
            and not _has_failed(old, (check, scope)),
        )
        for check, scope in dict.fromkeys([*old, *new])
    ]
    return sorted(found, key=lambda change: not change.is_worse)


def _verdicts(side: Side) -> dict[tuple[str, str], Counter[str]]:
    found: dict[tuple[str, str], Counter[str]] = {}
    for run in side.runs:
        complete = "passed" if run.is_complete else "failed"
        found.setdefault((_COMPLETE, "all runs"), Counter())[complete] += 1
        for verdict in run.verdicts:
            key = verdict["check"], verdict["scope"]
            found.setdefault(key, Counter())[verdict["verdict"]] += 1
    return found


def _has_failed(found: dict[tuple[str, str], Counter[str]], key: tuple[str, str]) -> bool:
    return key in found and found[key]["failed"] > 0


def _described(counts: Counter[str] | None) -> str:
    if counts is None:
        return "not there"
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
