"""A broker that stops and returns: every behaviour reconnects, and what failed is recorded."""

import threading
from collections import Counter
from pathlib import Path

import pytest

from loadgen.plan.plan import Plan, Tenant, Topic
from loadgen.plan.run_spec import RunSpec
from loadgen.preparation import prepare
from loadgen.storage import Storage
from loadgen.worker.worker import work
from loadgen.worker_reports import GAVE_UP
from mock_kafka import MockKafka
from tests.loadgen.runs import Row, events_of, written_rows

pytestmark = pytest.mark.slow

BEHAVIOURS = (
    "steady",
    "keyed",
    "restart-loop",
    "new-producer-per-error",
    "new-producer-per-batch",
    "retries-lost-responses",
    "delivery-timeout",
    "transactional",
    "topic-creator",
    "consumer-group",
    "admin",
    "connection-storm",
)
BEFORE_S, OUTAGE_S, DURATION_S = 1.0, 1.5, 5.0
RECORDS_NOTHING = {"delivery-timeout", "transactional"}
"""`client.Producer` connects on its own."""


def plan_of_all(brokers: int) -> Plan:
    tenants = [
        Tenant(
            name,
            name,
            topic="writes" if name != "consumer-group" else "reads",
            rate=30.0,
            clients=2,
            topics_per_request=1,
            request_timeout_ms=2000,
        )
        for name in BEHAVIOURS
    ]
    topics = (Topic("writes", 4, brokers), Topic("reads", 2, brokers))
    return Plan(
        name="outage", duration_s=DURATION_S, drain_s=8.0, tenants=tuple(tenants), topics=topics
    )


def run_with_outage(
    kafka: MockKafka, plan: Plan, folder: Path, broker: int
) -> tuple[list[Row], list[str]]:
    """Run the plan, with the broker stopped for a while; return the rows and why it gave up."""
    target = prepare(plan, "outage", kafka.bootstrap_servers, sets_quotas=False)
    spec = RunSpec("outage", plan, target.topology, lead_s=0.05)
    timers = [
        threading.Timer(BEFORE_S, kafka.stop_broker, [broker]),
        threading.Timer(BEFORE_S + OUTAGE_S, kafka.start_broker, [broker]),
    ]

    def gather(word: str) -> list[str]:
        for timer in timers:
            timer.start()
        return [word]

    reports = work(spec, Storage(str(folder)), 0, iter(events_of(plan)), gather)
    for timer in timers:
        timer.join()
    reasons = [report.reason or "" for report in reports if report.event == GAVE_UP]
    return written_rows(folder).to_pylist(), reasons


def last_responses_us(rows: list[Row]) -> dict[str, int]:
    """Return when the last successful response to an event of each tenant came."""
    found: dict[str, int] = {}
    for row in rows:
        if row["status"] == "responded" and row["error_code"] in {0, 46} and row["event_id"] >= 0:
            found[row["tenant"]] = max(found.get(row["tenant"], 0), row["response_us"])
    return found


def unreachable(rows: list[Row]) -> Counter[str]:
    """Return how often each tenant could not connect."""
    return Counter(
        row["tenant"] for row in rows if row["api"] == "ApiVersions" and row["status"] == "lost"
    )


@pytest.mark.parametrize("brokers", [1, 2])
def test_every_behaviour_continues_when_a_broker_returns(tmp_path: Path, brokers: int) -> None:
    plan = plan_of_all(brokers)
    config = {"group.initial.rebalance.delay.ms": 0}
    with MockKafka(brokers=brokers, config=config) as kafka:
        rows, reasons = run_with_outage(kafka, plan, tmp_path, broker=1)
    assert reasons == []
    last_us = last_responses_us(rows)
    after_us = (DURATION_S - 1) * 1e6
    assert {name: last_us.get(name, 0) > after_us for name in BEHAVIOURS} == dict.fromkeys(
        BEHAVIOURS, True
    )
    if brokers == 1:
        failed = unreachable(rows)
        assert {name for name in BEHAVIOURS if failed[name]} == set(BEHAVIOURS) - RECORDS_NOTHING
