"""A search finds, repeats and shrinks what fails."""

from collections.abc import Callable
from itertools import count

from mock_kafka.exploration.disturbances import PROFILES, Rule
from mock_kafka.exploration.outcome import Outcome
from mock_kafka.exploration.report import describe
from mock_kafka.exploration.schedule import Seen
from mock_kafka.exploration.search import Plan, Step, Summary, drive, search

SEEN = Seen({"Produce": 6, "Metadata": 2}, topics=("orders",), brokers=3)
LOST = {"api": "Produce", "times": 1, "drop": "before_response"}


def explored(is_failing: Callable[[list[Rule]], bool], plan: Plan) -> tuple[Summary, list[Step]]:
    steps: list[Step] = []

    def run(step: Step) -> Outcome:
        steps.append(step)
        failed = is_failing(step.rules)
        return Outcome(frozenset({"exit status 1"}), "exit status 1") if failed else Outcome()

    return drive(search(plan, PROFILES["producer"], SEEN), run), steps


def is_lost(rules: list[Rule]) -> bool:
    return any(rule["api"] == "Produce" and "drop" in rule for rule in rules)


def test_a_failure_is_repeated_and_shrunk_to_one_rule() -> None:
    summary, steps = explored(is_lost, Plan(runs=40))
    (finding,) = summary.findings
    assert finding.rules == [LOST]
    assert (finding.repeats.failures, finding.repeats.runs) == (5, 5)
    assert finding.shrink_runs == sum(step.purpose == "shrink" for step in steps) <= 50
    assert summary.failures == 1
    assert describe(finding).splitlines()[:5] == [
        "exit status 1",
        f"with these fault rules, drawn from seed {finding.seed} in run {finding.run}:",
        "[",
        '    {"api": "Produce", "times": 1, "drop": "before_response"},',
        "]",
    ]


def test_the_seed_of_a_finding_draws_it_in_the_first_run() -> None:
    finding = explored(is_lost, Plan(runs=40))[0].findings[0]
    again = explored(is_lost, Plan(seed=finding.seed, runs=1))[0].findings[0]
    assert (again.run, again.drawn, again.rules) == (1, finding.drawn, finding.rules)


def test_what_never_fails_is_run_as_often_as_planned() -> None:
    summary, steps = explored(lambda _rules: False, Plan(runs=7))
    assert (summary.runs, summary.failures, summary.findings) == (7, 0, [])
    assert [(step.purpose, step.seed) for step in steps] == [("run", seed) for seed in range(7)]


def test_what_fails_once_is_reported_as_it_was_drawn() -> None:
    calls = count()
    summary, steps = explored(lambda _rules: next(calls) == 0, Plan(runs=3, repeats=4))
    (finding,) = summary.findings
    assert finding.rules == finding.drawn
    assert str(finding.repeats) == "failed 0 of 4; the same requests in 4 of 4"
    assert [step.purpose for step in steps] == ["run"] + 4 * ["repeat"]


def test_what_fails_every_other_time_is_shrunk_with_several_tries() -> None:
    calls = count()
    summary, _steps = explored(
        lambda rules: is_lost(rules) and next(calls) % 2 == 0, Plan(runs=40, repeats=6)
    )
    (finding,) = summary.findings
    assert finding.rules == [LOST]
    assert 2 <= finding.repeats.failures <= 4


def test_what_fails_without_faults_is_reported_without_rules() -> None:
    calls = count()
    summary, _steps = explored(lambda _rules: next(calls) > 3, Plan(runs=20))
    (finding,) = summary.findings
    assert finding.rules == []
    assert "without any" in describe(finding)


def test_shrinking_ends_with_its_budget() -> None:
    _summary, steps = explored(is_lost, Plan(runs=40, shrink_runs_max=2))
    assert sum(step.purpose == "shrink" for step in steps) == 2


def test_the_same_finding_is_reported_once_and_others_are_looked_for() -> None:
    summary, _steps = explored(is_lost, Plan(runs=30, findings_max=3))
    assert summary.runs == 30
    assert summary.failures > 1
    assert [finding.rules for finding in summary.findings] == [[LOST]]
