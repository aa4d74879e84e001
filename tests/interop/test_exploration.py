"""The explorer finds planted bugs of services on a real client, and none in healthy ones.

`python -m tests.interop.test_exploration` prints how many runs it needs, for five seeds each.
"""

import json
import sys
from collections.abc import Iterator
from statistics import median

import pytest

from mock_kafka import MockKafka
from mock_kafka.exploration.report import describe
from mock_kafka.exploration.search import Plan
from tests.interop.planted_services import PLANTED, explore_service

RUNS = 40
SEEDS = (1000, 2000, 3000, 4000, 5000)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found_and_shrunk_to_one_rule(name: str) -> None:
    planted = PLANTED[name]
    with MockKafka(brokers=3, audit=True) as kafka:
        plan = Plan(runs=RUNS, repeats=2)
        summary = explore_service(kafka, planted, plan, planted.bug)
        kafka.reset()  # the audit of the last run may have findings
    (finding,) = summary.findings
    assert len(finding.rules) == 1
    assert finding.repeats.failures == 2


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
def test_a_healthy_service_has_no_finding(name: str) -> None:
    planted = PLANTED[name]
    with MockKafka(brokers=3, audit=True) as kafka:
        summary = explore_service(kafka, planted, Plan(runs=RUNS), planted.healthy)
        kafka.reset()
    found = [(describe(finding), finding.outcome.error) for finding in summary.findings]
    assert (summary.runs, found) == (RUNS, [])


def table() -> Iterator[str]:
    """Yield how many runs each bug needs (min, median, max), and what is left of the rules."""
    with MockKafka(brokers=3, audit=True) as kafka:
        for name, planted in PLANTED.items():
            found = [
                explore_service(kafka, planted, Plan(seed=seed, runs=RUNS), planted.bug)
                for seed in SEEDS
            ]
            runs = [summary.runs for summary in found]
            yield f"{name}: {min(runs)} / {median(runs)} / {max(runs)} runs"
            rules = [json.dumps(finding.rules) for one in found for finding in one.findings]
            for shrunk in sorted(set(rules)):
                yield f"  {rules.count(shrunk)} of {len(SEEDS)}: {shrunk}"


if __name__ == "__main__":
    for line in table():
        sys.stdout.write(f"{line}\n")
