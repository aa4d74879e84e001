"""The probes of a search: what each one measured, as rows for tables, charts and JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loadgen.limit_search.bisection import Bracket, ProbeOutcome
from loadgen.limit_search.dimensions import Dimension
from loadgen.limit_search.objectives import Objective, judge, worst_of


@dataclass(frozen=True, slots=True)
class Probe:
    """One run of a search; latencies and shares are those of the worst tenant."""

    number: int
    value: float
    """In the unit of the dimension."""
    outcome: ProbeOutcome
    reasons: list[str]
    seed: int
    responses_per_s: float
    p50_ms: float | None
    p99_ms: float | None
    errors_percent: float | None
    throttled_percent: float | None
    folder: str
    """The `--out` of the run."""


def probe_of(
    number: int,
    value: float,
    folder: str,
    summary: Mapping[str, Any],
    objectives: Sequence[Objective],
) -> Probe:
    """Return the row of a run, judged by its checks and the objectives."""
    outcome, reasons = judge(summary, objectives)
    return Probe(
        number,
        value,
        outcome,
        reasons,
        summary["seed"],
        summary["responses_per_s"],
        worst_of(summary, "p50"),
        worst_of(summary, "p99"),
        worst_of(summary, "errors"),
        worst_of(summary, "throttled"),
        folder,
    )


@dataclass(frozen=True, slots=True)
class Search:
    """A search, as far as it has come."""

    plan: str
    dimension: Dimension
    objectives: Sequence[Objective]
    probes: Sequence[Probe]
    bracket: Bracket | None
    """None if it ended before the limit was found."""

    @property
    def conclusion(self) -> str:
        """The result in one line."""
        name, bracket = f"{self.plan}: {self.dimension.name}", self.bracket
        if bracket is None:
            return f"{name}: the search ended before a limit was found"
        held, broke = (self.in_unit(value) for value in (bracket.held, bracket.broke))
        if bracket.broke is None:
            return f"{name}: no limit up to {held}"
        what = "it breaks" if bracket.is_target else "the load generator is late"
        if bracket.held is None:
            return f"{name}: {what} at {broke} already, the lowest value"
        if not bracket.is_target:
            return f"{name}: limit unknown, at least {held}; {what} at {broke}"
        return f"{name}: limit {held}; {what} at {broke}: {self.first_reason(bracket.broke)}"

    def first_reason(self, value: float) -> str:
        """Return why the last probe of a value did not hold."""
        return next(
            probe.reasons[0]
            for probe in reversed(self.probes)
            if probe.value == value and probe.reasons
        )

    def in_unit(self, value: float | None) -> str:
        """Return a value with its unit."""
        return "-" if value is None else f"{value:,.4g} {self.dimension.unit}"

    def as_dict(self) -> dict[str, Any]:
        """Return the search as JSON values."""
        bracket = self.bracket or Bracket()
        return {
            "plan": self.plan,
            "vary": self.dimension.name,
            "unit": self.dimension.unit,
            "objectives": list(map(str, self.objectives)),
            "is_complete": self.bracket is not None,
            "held": bracket.held,
            "broke": bracket.broke,
            "is_limit_of_target": bracket.broke is not None and bracket.is_target,
            "conclusion": self.conclusion,
            "probes": [asdict(probe) for probe in self.probes],
        }
