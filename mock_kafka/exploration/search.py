"""Search for schedules with which a program fails; shrink each, and repeat it.

This decides what to run next. A driver runs it: `mock-kafka explore`, or a test with
`@mock_kafka.explore`.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from math import ceil, log

from mock_kafka.exploration.choices import SeededChoices
from mock_kafka.exploration.disturbances import Disturbance, Rule
from mock_kafka.exploration.outcome import Outcome, first_difference
from mock_kafka.exploration.schedule import Seen, draw_schedule
from mock_kafka.exploration.shrinking import shrink

_STEPS_BACK = 3
_UNLUCKY = 0.1
"""With this probability a schedule that fails sometimes is taken for one that passes."""


@dataclass(frozen=True)
class Plan:
    """How to explore.

    Attributes:
        seed: what the first run draws from; each later run draws from the next number.
        runs: how many schedules to draw.
        rules_max: the most rules of a schedule.
        repeats: how often to repeat a schedule that failed.
        shrink_runs_max: how many runs may shrink one schedule.
        findings_max: after how many different findings to stop.
    """

    seed: int = 0
    runs: int = 50
    rules_max: int = 4
    repeats: int = 5
    shrink_runs_max: int = 50
    findings_max: int = 1


@dataclass(frozen=True)
class Step:
    """One run to make: `purpose` is `run`, `repeat` or `shrink`, `number` counts from 1 in each."""

    rules: list[Rule]
    purpose: str
    number: int
    seed: int


@dataclass(frozen=True)
class Repeats:
    """How often a schedule failed again, and where its requests first differed from before."""

    runs: int
    failures: int
    differences: tuple[str, ...]

    def __str__(self) -> str:
        same = self.runs - len(self.differences)
        text = f"failed {self.failures} of {self.runs}; the same requests in {same} of {self.runs}"
        return text + (f" (first difference: {self.differences[0]})" if self.differences else "")


@dataclass(frozen=True)
class Finding:
    """A schedule with which the program fails.

    Attributes:
        rules: the shrunk schedule.
        drawn: the schedule as it was drawn.
        seed: what it was drawn from; `runs=1` with this seed draws it again.
        run: the number of the run that found it, from 1.
        outcome: the last failing run of `rules`.
        drawn_repeats, repeats: of `drawn` and of `rules`.
        shrink_runs: how many runs shrunk it.
    """

    rules: list[Rule]
    drawn: list[Rule]
    seed: int
    run: int
    outcome: Outcome
    drawn_repeats: Repeats
    repeats: Repeats
    shrink_runs: int

    @property
    def shape(self) -> frozenset[tuple[object, ...]]:
        """What is equal for two findings of the same fault: APIs, fields and names, no numbers."""
        return frozenset(
            tuple(sorted((name, value) for name, value in rule.items() if isinstance(value, str)))
            for rule in self.rules
        )


@dataclass
class Summary:
    """What an exploration has found so far."""

    runs: int = 0
    failures: int = 0
    findings: list[Finding] = field(default_factory=list)


Search = Generator[Step, Outcome, Summary]


def search(plan: Plan, disturbances: Sequence[Disturbance], seen: Seen) -> Search:
    """Yield the runs to make, be sent their outcomes, and return what was found."""
    summary = Summary()
    for number in range(1, plan.runs + 1):
        seed = plan.seed + number - 1
        rules = draw_schedule(SeededChoices(seed), disturbances, seen, rules_max=plan.rules_max)
        outcome = yield Step(rules, "run", number, seed)
        summary.runs = number
        if not outcome.kinds:
            continue
        summary.failures += 1
        finding = yield from _examine(plan, rules, outcome, number, seed)
        if finding.shape not in {known.shape for known in summary.findings}:
            summary.findings.append(finding)
        if len(summary.findings) >= plan.findings_max:
            break
    return summary


def drive(search: Search, run: Callable[[Step], Outcome]) -> Summary:
    """Make the runs of a search; return its summary."""
    try:
        step = next(search)
        while True:
            step = search.send(run(step))
    except StopIteration as stop:
        summary: Summary = stop.value
        return summary


def _examine(
    plan: Plan, drawn: list[Rule], outcome: Outcome, run: int, seed: int
) -> Generator[Step, Outcome, Finding]:
    drawn_repeats, outcome = yield from repeat(drawn, outcome, plan.repeats, seed)
    rules, repeats, shrink_runs = drawn, drawn_repeats, 0
    if drawn_repeats.failures:
        tries = _tries(drawn_repeats)
        shrunk, shrink_runs = yield from _shrink(plan, drawn, outcome, tries, seed)
        # The last one may be one that fails rarely: then the one before it is of more use.
        for candidate, failed in reversed(shrunk[-_STEPS_BACK:]):
            found, last = yield from repeat(candidate, failed, plan.repeats, seed)
            if 2 * found.failures >= drawn_repeats.failures:
                rules, repeats, outcome = candidate, found, last
                break
    return Finding(rules, drawn, seed, run, outcome, drawn_repeats, repeats, shrink_runs)


def repeat(
    rules: list[Rule], outcome: Outcome, runs: int, seed: int
) -> Generator[Step, Outcome, tuple[Repeats, Outcome]]:
    """Run a schedule again; return how often it failed alike, and the last failing outcome."""
    failures, differences, first = 0, [], outcome
    for number in range(1, runs + 1):
        repeated = yield Step(rules, "repeat", number, seed)
        if repeated.kinds & first.kinds:
            failures += 1
            outcome = repeated
        difference = first_difference(first, repeated)
        if difference is not None:
            differences.append(difference)
    return Repeats(runs, failures, tuple(differences)), outcome


def _tries(repeats: Repeats) -> int:
    """Return how many passing runs show that a schedule does not fail as often as before."""
    passing = 1 - repeats.failures / repeats.runs
    return 1 if passing == 0 else min(repeats.runs, ceil(log(_UNLUCKY) / log(passing)))


def _shrink(
    plan: Plan, drawn: list[Rule], outcome: Outcome, tries: int, seed: int
) -> Generator[Step, Outcome, tuple[list[tuple[list[Rule], Outcome]], int]]:
    """Shrink a schedule; return the ever smaller ones that failed in the same way."""
    known: list[tuple[list[Rule], bool]] = []
    failed: list[tuple[list[Rule], Outcome]] = []
    runs = 0
    shrinking = shrink(drawn)
    try:
        candidate = next(shrinking)
        while True:
            has_failed = next((result for rules, result in known if rules == candidate), None)
            tried = 0
            while has_failed is None and tried < tries and runs < plan.shrink_runs_max:
                runs, tried = runs + 1, tried + 1
                shrunk = yield Step(candidate, "shrink", runs, seed)
                if shrunk.kinds & outcome.kinds:
                    has_failed = True
                    failed.append((candidate, shrunk))
            known.append((candidate, bool(has_failed)))
            candidate = shrinking.send(bool(has_failed))
    except StopIteration:
        return failed, runs
