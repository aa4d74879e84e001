"""The explorer finds planted bugs of services on a real client, and none in healthy ones.

`python -m tests.interop.test_exploration` prints how many runs it needs, for five seeds each.
"""

import json
import sys
from collections.abc import Iterator
from statistics import median

import pytest
from kafka.errors import NotLeaderForPartitionError

from mock_kafka import MockKafka
from mock_kafka.exploration.report import describe
from mock_kafka.exploration.search import Plan
from tests.interop.planted_services import PLANTED, TOPIC, explore_service, producer_of

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


@pytest.mark.parametrize("retries", [9, None])
def test_few_retries_end_before_kafka_python_knows_the_next_leader(retries: int | None) -> None:
    # It sends again every retry_backoff_ms, but asks for metadata every 100 ms at most: the manager
    # of its connections (kafka.net.manager) does not pass retry_backoff_ms on to ClusterMetadata.
    old_leader = {"topics": {"partitions": {"leader_id": 1}}}
    rules = [
        {"name": "moved", "api": "Produce", "topic": TOPIC, "leader": 2, "nth": 2},
        {"api": "Metadata", "response": old_leader, "after": "moved", "times": 3},
    ]
    limit = {} if retries is None else {"retries": retries}
    with MockKafka(brokers=3, audit=True) as kafka:
        kafka.create_topic(TOPIC, 1, 3)
        kafka.add_faults(rules)
        with producer_of(kafka, **limit) as producer:
            producer.send(TOPIC, b"1").get(timeout=30)
            sent = producer.send(TOPIC, b"2")
            if retries is None:
                assert sent.get(timeout=30).offset == 1
            else:
                with pytest.raises(NotLeaderForPartitionError):
                    sent.get(timeout=30)
        stored = [record.value for record in kafka.records(TOPIC)]
        assert stored == [b"1", b"2"][: 1 if retries else 2]


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
