"""Faults of a plan on a real cluster, over its admin port."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from loadgen.admin_port import AdminPort
from loadgen.fault_rows import read_rows
from loadgen.fault_target import FaultTarget
from loadgen.fault_timeline import FaultTimeline
from loadgen.leader_moves import KafkaLeaders
from loadgen.plan.faults import CutBroker, Fault, MoveLeader
from loadgen.plan.plan import Plan, Tenant
from loadgen.progress import Progress
from loadgen.storage import Storage
from mock_kafka import MockKafka

FOLDER = ("faults", "run=r")
RULE: dict[str, Any] = {"api": "Produce", "error": "NOT_ENOUGH_REPLICAS"}


@pytest.fixture(scope="module")
def kafka() -> Iterator[MockKafka]:
    with MockKafka(brokers=2) as kafka:
        kafka.create_topic("t", 1, replication_factor=2)
        kafka.move_leader("t", 0, 1)
        yield kafka


def progress_at(t_s: float) -> Progress:
    return Progress({0: {"worker": 0, "t_s": t_s}})


def target_of(kafka: MockKafka) -> FaultTarget:
    plan = Plan(name="p", duration_s=1.0, tenants=(Tenant("a", "steady", "a"),))
    return FaultTarget(AdminPort(kafka.admin_url), KafkaLeaders(plan, kafka.bootstrap_servers))


def carry_out(target: FaultTarget, *faults: Fault) -> FaultTimeline:
    """Carry out faults whose times have passed when the first report comes."""
    done = threading.Event()
    expected = len(faults) + sum(fault.for_s is not None for fault in faults)
    calls = []

    def show(rows: Any) -> None:
        calls.append(rows)
        if len(calls) == expected:
            done.set()

    timeline = FaultTimeline(faults, target, show)
    with timeline:
        timeline.take(progress_at(100.0))
        assert done.wait(30)
    return timeline


def test_a_leader_moves_and_returns(kafka: MockKafka) -> None:
    port = AdminPort(kafka.admin_url)
    fault = Fault("move", 1.0, 2.0, move_leader=MoveLeader("t", 0, 2))
    [row] = carry_out(target_of(kafka), fault).rows
    assert (row.error, row.intended_us, row.action) == (None, 1_000_000, "move_leader")
    assert row.begun_us is not None
    assert row.ended_us is not None
    assert 100e6 <= row.begun_us <= row.ended_us
    assert row.broker_clock_ms is not None
    assert port.leader("t", 0) == 1

    carry_out(target_of(kafka), Fault("stays", 1.0, move_leader=MoveLeader("t", 0, 2)))
    assert port.leader("t", 0) == 2
    port.move_leader("t", 0, 1)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("away", 1.0, stop_broker=CutBroker(2)),
        Fault("away", 1.0, isolate_broker=CutBroker(2)),
    ],
    ids=lambda fault: fault.action,
)
def test_a_broker_is_back_at_the_end_of_the_run(
    kafka: MockKafka, fault: Fault, tmp_path: Path
) -> None:
    timeline = carry_out(target_of(kafka), fault)
    assert timeline.reasons == []
    with urlopen(f"{kafka.admin_url}/v1/brokers", timeout=30) as response:
        assert [broker["availability"] for broker in json.load(response)] == ["up", "up"]

    storage = Storage(str(tmp_path))
    timeline.write(storage, FOLDER)
    assert read_rows(storage, FOLDER) == timeline.rows


def test_a_rule_is_removed_and_its_count_kept(kafka: MockKafka) -> None:
    rule = {"stop_broker": 2, "restart_after_ms": 0, "at_once": True}
    [row] = carry_out(target_of(kafka), Fault("rule", 1.0, rule=rule)).rows
    assert (row.error, row.fired) == (None, 1)
    assert AdminPort(kafka.admin_url).fired_counts() == {}


def test_a_fault_that_fails_or_comes_too_late_makes_the_run_incomplete(kafka: MockKafka) -> None:
    target = target_of(kafka)
    timeline = carry_out(target, Fault("wrong", 1.0, stop_broker=CutBroker(7)))
    [reason] = timeline.reasons
    assert reason.startswith(f"fault 'wrong': admin port {kafka.admin_url}: ")

    late = FaultTimeline([Fault("late", 1e6, rule=RULE)], target)
    with late:
        late.take(progress_at(0.0))
    assert late.reasons == ["fault 'late': the load ended before it"]
