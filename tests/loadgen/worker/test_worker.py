"""A worker without Spark: schedule batches in, a row per request out."""

import socket
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from client.sasl import MECHANISMS
from loadgen import clock
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.run_spec import RunSpec, Topology
from loadgen.preparation import prepare
from loadgen.storage import Storage
from loadgen.worker import worker
from mock_kafka import MockKafka
from tests.loadgen.runs import endings, events_of, of_api, plan_of, run, written_rows

pytestmark = pytest.mark.slow

SPEC = RunSpec(
    "r",
    Plan(name="p", duration_s=1, tenants=(Tenant("a", "steady", "a"),), warm_up_s=2),
    Topology({}, -1, {}),
)
STEADY = "[{name: a, behaviour: steady, topic: t, clients: 8, rate: 400}]"


def test_every_event_is_one_request_and_has_one_row(servers: str) -> None:
    plan = plan_of(STEADY)
    produce = of_api(run(plan, servers), "Produce")
    assert sorted(row["event_id"] for row in produce) == list(range(200))
    assert endings(produce) == {("responded", "new", 0): 200}
    for row in produce:
        assert row["intended_us"] <= row["submitted_us"] <= row["sent_us"] <= row["response_us"]
        assert row["topic"] == plan.topics[0].name
    assert len({(row["client"], row["producer_id"], row["partition"]) for row in produce}) == 8
    assert {row["worker_wall_us"] > row["worker_cpu_us"] > 0 for row in produce} == {True}


def test_a_closed_loop_sends_when_it_was_answered(servers: str) -> None:
    rows = run(
        plan_of("[{name: a, behaviour: steady, arrival: closed, window: 2, topic: t, clients: 3}]"),
        servers,
    )
    produce = of_api(rows, "Produce")
    assert len(produce) > 100
    assert len({row["event_id"] for row in produce}) == len(produce)
    for client in range(3):
        own_rows = sorted(
            (row for row in produce if row["client"] == client), key=lambda r: r["sent_us"]
        )
        for earlier, later in zip(own_rows, own_rows[2:], strict=False):
            assert later["sent_us"] >= earlier["response_us"]


@pytest.mark.slow
def test_a_plan_that_can_not_be_met_ends_soon_and_keeps_what_was_done(servers: str) -> None:
    # One request at a time, and fifty thousand a second: no round trip is that short.
    tenant = "{name: a, behaviour: steady, topic: t, window: 1, rate: 50000}"
    plan = replace(plan_of(f"[{tenant}]", duration_s=20), abort_behind_s=0.2)
    produce = of_api(run(plan, servers), "Produce")
    found = Counter(row["status"] for row in produce)
    assert found["responded"] > 0
    assert found["not_sent"] > 0
    # Later events are not waited for and have no rows.
    assert len({row["event_id"] for row in produce}) < 1_000_000 / 2


@pytest.mark.slow
def test_workers_share_the_clients_and_the_time_zero(servers: str, tmp_path: Path) -> None:
    plan = plan_of(STEADY)
    found = prepare(plan, "r", servers, sets_quotas=False)
    spec = RunSpec("r", plan, found.topology, workers=2, lead_s=0.0)
    [events] = events_of(plan)
    mine = events.filter([client % 2 == 1 for client in events.column("client").to_pylist()])
    later = str(clock.epoch_us() + 300_000)
    worker.work(spec, Storage(str(tmp_path)), 1, iter([mine]), lambda word: [word, later])
    rows = written_rows(tmp_path).to_pylist()
    produce = of_api(rows, "Produce")
    assert {row["worker"] for row in rows} == {1}
    assert {row["client"] for row in produce} == {1, 3, 5, 7}
    assert len(produce) == mine.num_rows
    # All of it was made before the other worker was ready.
    assert max(row["response_us"] for row in of_api(rows, "InitProducerId")) < 0


def test_the_common_zero_is_behind_the_last_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "epoch_us", lambda: 1_000_000_000)
    monkeypatch.setattr(clock, "now_us", lambda: 500)
    zero_us = worker.common_zero_us(SPEC, lambda word: [word, "1000700000"])
    assert zero_us == 500 + 700_000 + 1_500_000 + 2_000_000  # ready, lead, warm-up
    # A clock that is ahead of the driver's by 0.2 s has the same zero later on.
    later_us = worker.common_zero_us(SPEC, lambda word: [word, "1000700000"], 200_000)
    assert later_us == zero_us + 200_000


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_tenant_logs_in_as_its_user(mechanism: str) -> None:
    config = {"listeners": "SASL_PLAINTEXT://:0", "sasl.users": "alice:secret"}
    with MockKafka(config=config) as kafka:
        plan = plan_of(
            "[{name: a, behaviour: steady, topic: t, rate: 20,"
            f" user: alice, password: secret, mechanism: {mechanism}}}]"
        )
        rows = run(plan, kafka.bootstrap_servers)
    assert endings(of_api(rows, "Produce")) == {("responded", "new", 0): 10}
    assert {row["user"] for row in rows} == {"alice"}


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        found.settimeout(10)
        yield found


def test_the_driver_hears_of_the_progress(servers: str, listener: socket.socket) -> None:
    run(plan_of(STEADY), servers, progress_address=listener.getsockname())
    reports: list[bytes] = []
    while not reports or b'"is_over": true' not in reports[-1]:
        reports.append(listener.recv(4096))
    assert b'"done": 200' in reports[-1]
    assert b'"reasons": []' in reports[-1]


def has_uvloop() -> bool:
    try:
        import uvloop  # noqa: F401, PLC0415 - not for all systems
    except ImportError:
        return False
    return True


def test_the_event_loop_is_that_of_asyncio_without_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (worker._loop_factory() is None) == (not has_uvloop())
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert worker._loop_factory() is None
