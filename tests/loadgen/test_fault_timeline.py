"""Faults of a plan on a real cluster, over its admin port."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from loadgen.admin_port import AdminPort
from loadgen.fault_rows import read_rows
from loadgen.fault_timeline import FaultError, FaultTimeline, check_faults
from loadgen.plan.faults import CutBroker, Fault, MoveLeader
from loadgen.progress import Progress
from loadgen.storage import Storage
from mock_kafka import MockKafka

FOLDER = ("faults", "run=r")
LEADERS = {"t": [1]}
RULE: dict[str, Any] = {"api": "Produce", "error": "NOT_ENOUGH_REPLICAS"}


@pytest.fixture(scope="module")
def kafka() -> Iterator[MockKafka]:
    with MockKafka(brokers=2) as kafka:
        kafka.create_topic("t", 1, replication_factor=2)
        kafka.move_leader("t", 0, 1)
        yield kafka


def progress_at(t_s: float) -> Progress:
    return Progress({0: {"worker": 0, "t_s": t_s}})


def carry_out(port: AdminPort, *faults: Fault) -> FaultTimeline:
    """Carry out faults whose times have passed when the first report comes."""
    done = threading.Event()
    expected = len(faults) + sum(fault.for_s is not None for fault in faults)
    calls = []

    def show(rows: Any) -> None:
        calls.append(rows)
        if len(calls) == expected:
            done.set()

    timeline = FaultTimeline(faults, port, show)
    with timeline:
        timeline.take(progress_at(100.0))
        assert done.wait(30)
    return timeline


def test_a_leader_moves_and_returns(kafka: MockKafka) -> None:
    port = AdminPort(kafka.admin_url)
    fault = Fault("move", 1.0, 2.0, move_leader=MoveLeader("t", 0, 2))
    [row] = carry_out(port, fault).rows
    assert (row.error, row.intended_us, row.action) == (None, 1_000_000, "move_leader")
    assert row.begun_us is not None
    assert row.ended_us is not None
    assert 100e6 <= row.begun_us <= row.ended_us
    assert row.broker_clock_ms is not None
    assert port.leader("t", 0) == 1

    carry_out(port, Fault("stays", 1.0, move_leader=MoveLeader("t", 0, 2)))
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
    timeline = carry_out(AdminPort(kafka.admin_url), fault)
    assert timeline.reasons == []
    with urlopen(f"{kafka.admin_url}/v1/brokers", timeout=30) as response:
        assert [broker["availability"] for broker in json.load(response)] == ["up", "up"]

    storage = Storage(str(tmp_path))
    timeline.write(storage, FOLDER)
    assert read_rows(storage, FOLDER) == timeline.rows


def test_a_rule_is_removed_and_its_count_kept(kafka: MockKafka) -> None:
    port = AdminPort(kafka.admin_url)
    rule = {"stop_broker": 2, "restart_after_ms": 0, "at_once": True}
    [row] = carry_out(port, Fault("rule", 1.0, rule=rule)).rows
    assert (row.error, row.fired) == (None, 1)
    assert port.fired_counts() == {}


def test_a_fault_that_fails_or_comes_too_late_makes_the_run_incomplete(kafka: MockKafka) -> None:
    port = AdminPort(kafka.admin_url)
    timeline = carry_out(port, Fault("wrong", 1.0, stop_broker=CutBroker(7)))
    [reason] = timeline.reasons
    assert reason.startswith(f"fault 'wrong': admin port {kafka.admin_url}: ")

    late = FaultTimeline([Fault("late", 1e6, rule=RULE)], port)
    with late:
        late.take(progress_at(0.0))
    assert late.reasons == ["fault 'late': the load ended before it"]


def test_faults_are_checked_before_the_load(kafka: MockKafka) -> None:
    port = AdminPort(kafka.admin_url)
    check_faults([Fault("ok", 1.0, rule=RULE)], port, LEADERS)
    assert port.fired_counts() == {}

    wrong = {
        "errror": Fault("f", 1.0, rule={"api": "Produce", "errror": "NONE"}),
        "there is no broker 9; brokers: [1, 2]": Fault("f", 1.0, stop_broker=CutBroker(9)),
        "'t' has no partition 5": Fault("f", 1.0, move_leader=MoveLeader("t", 5, 1)),
        "'u' is not among topics: ['t']": Fault("f", 1.0, move_leader=MoveLeader("u", 0, 1)),
    }
    for text, fault in wrong.items():
        with pytest.raises(FaultError) as raised:
            check_faults([fault], port, LEADERS)
        assert text in str(raised.value)
        assert str(raised.value).startswith("fault 'f': ")
    with pytest.raises(FaultError, match="need the URL of mock-kafka's admin port: --admin URL"):
        check_faults([wrong["errror"]], None, LEADERS)


class _RulesOnly(BaseHTTPRequestHandler):
    """The admin port of a program that has fault rules and no brokers."""

    def do_GET(self) -> None:
        self.send_response(404)
        content = b'{"detail": "no such path"}'
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        pass


def test_a_port_without_brokers_cannot_stop_one() -> None:
    with HTTPServer(("127.0.0.1", 0), _RulesOnly) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        port = AdminPort(f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(FaultError, match="stop_broker needs the admin port of the brokers"):
            check_faults([Fault("f", 1.0, stop_broker=CutBroker(1))], port, LEADERS)
        thread.join()
