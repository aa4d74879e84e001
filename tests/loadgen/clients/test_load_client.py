"""The base class of load clients: closed loops, connecting, aborting."""

import socket

import pytest

from client.errors import ConnectionLostError
from loadgen.clients import load_client
from loadgen.clients.load_client import Event, LoadClient
from loadgen.plan.plan import Tenant
from tests.loadgen.stubs import rows_of, run_of

EVENT = Event(3, 10, 12, 99)


def test_in_a_closed_loop_events_follow_until_the_end() -> None:
    run = run_of(Tenant("a", "steady", "a", arrival="closed"))
    run.end_us = 1000
    client = LoadClient(run, run.plan.tenants[0], 0)
    second = client.next_in_loop(EVENT, 500)
    assert second is not None
    third = client.next_in_loop(second, 600)
    assert third is not None
    assert len({EVENT.event_id, second.event_id, third.event_id}) == 3
    assert (second.intended_us, third.intended_us) == (500, 600)
    assert len({EVENT.salt, second.salt, third.salt}) == 3
    assert client.next_in_loop(third, 1000) is None
    run.abort_run("enough")
    assert client.next_in_loop(third, 700) is None


def test_an_open_loop_has_no_next_event() -> None:
    run = run_of(Tenant("a", "steady", "a"))
    run.end_us = 1000
    assert LoadClient(run, run.plan.tenants[0], 0).next_in_loop(EVENT, 500) is None


def test_an_event_that_was_not_sent_has_a_row() -> None:
    run = run_of(Tenant("a", "steady", "a"))
    LoadClient(run, run.plan.tenants[0], 0).record_not_sent(EVENT)
    [row] = rows_of(run)
    assert (row["event_id"], row["intended_us"], row["sent_us"]) == (3, 10, None)
    assert (row["status"], row["api"]) == ("not_sent", "Produce")


async def test_an_unreachable_target_aborts_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_client, "UNREACHABLE_MAX_S", 0.0)
    monkeypatch.setattr(load_client, "RECONNECT_BACKOFF_S", 0.0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        run = run_of(Tenant("a", "steady", "a"), taken.getsockname()[1])
        client = LoadClient(run, run.plan.tenants[0], 0)
        with pytest.raises(ConnectionLostError, match="aborted"):
            await client.connect(lambda _: 1)
    assert run.is_over
    [reason] = run.counts.reasons
    assert reason.startswith("tenant a: cannot connect to 127.0.0.1:")


def test_only_the_first_abort_reason_is_recorded() -> None:
    run = run_of(Tenant("a", "steady", "a"))
    for reason in ("x", "y", "x"):
        run.abort_run(reason)
    assert run.counts.reasons == ["x", "y"]


def test_without_a_leader_any_broker_gets_the_request() -> None:
    run = run_of(Tenant("a", "steady", "a", topic="t"))
    run.topology.leaders["t"] = [-1]
    assert LoadClient(run, run.plan.tenants[0], 0).leader("t", 0) == 1
