"""Responses come in pieces, and at the time of a slow link, by the clock."""

import pytest

from broker.faults.rule import fault_rule
from broker.faults.slow_link import sending_ms
from broker.journal.lines import Entry, Outcome
from broker.responses import CloseManner
from tests.broker.connection_driver import metadata_frame
from tests.broker.faults.faulty_clients import Clients, produce_frame


def whole_response() -> bytes:
    clients = Clients()
    clients.send(produce_frame(1))
    return clients.written[0]


def test_a_response_trickles_by_the_clock_and_the_next_one_waits_behind_it() -> None:
    response = whole_response()
    clients = Clients(fault_rule(api="Produce", trickle_bytes=10, trickle_ms=7))
    clients.send(produce_frame(1) + metadata_frame(2))
    seen = [len(clients.written[0])]
    while len(clients.written[0]) < len(response):
        clients.advance(6)
        assert len(clients.written[0]) == seen[-1]
        clients.advance(1)
        seen.append(len(clients.written[0]))
    assert seen[:-1] == [10 * (number + 1) for number in range(len(seen) - 1)]
    assert clients.written[0].startswith(response)
    assert clients.ids() == [1, 2]
    assert clients.bugs == []


@pytest.mark.parametrize("delay_ms", [0, 50])
def test_the_journal_has_the_whole_response_that_trickles(delay_ms: int) -> None:
    response = whole_response()
    rule = fault_rule(api="Produce", trickle_bytes=10, trickle_ms=7, delay_ms=delay_ms)
    clients = Clients(rule, overrides={"journal.enable": "true"})
    clients.send(produce_frame(1))
    clients.advance(1_000)
    assert clients.written[0] == response
    *_, last = clients.dispatcher.journal
    assert isinstance(last, Entry)
    assert (last.outcome, last.kept_response) == (Outcome.RESPONDED, response)
    assert clients.bugs == []


def test_a_short_response_is_one_piece() -> None:
    clients = Clients(fault_rule(api="Produce", trickle_bytes=10_000))
    clients.send(produce_frame(1))
    assert clients.written[0] == whole_response()


def test_a_client_that_leaves_ends_the_trickle() -> None:
    clients = Clients(fault_rule(api="Produce", trickle_bytes=1, trickle_ms=1))
    clients.send(produce_frame(1))
    clients.connections[0].lose()
    clients.advance(1_000)
    assert len(clients.written[0]) == 1
    assert clients.cluster.timers.next_due_ms() is None or clients.bugs == []


def test_a_broker_that_stops_writes_the_rest_at_once() -> None:
    clients = Clients(fault_rule(api="Produce", trickle_bytes=10, trickle_ms=1_000))
    clients.send(produce_frame(1))
    clients.connections[0].force_complete(clients.now_ms)
    clients.settle()
    assert clients.written[0] == whole_response()


def test_a_throttled_response_trickles_and_is_muted_behind_it() -> None:
    clients = Clients(
        fault_rule(api="Produce", trickle_bytes=30, trickle_ms=5, throttle_time_ms=100)
    )
    clients.send(produce_frame(1) + metadata_frame(2))
    clients.advance(50)
    assert clients.ids() == [1]
    clients.advance(1_000)
    assert clients.ids() == [1, 2]


def test_each_direction_has_its_rate() -> None:
    clients = Clients(fault_rule(api="Produce", request_bytes_per_second=100, times=1))
    frame = produce_frame(1)
    clients.send(frame)
    needed_ms = sending_ms(len(frame) - 4, 100)
    clients.advance(needed_ms - 1)
    assert clients.stored == 0
    clients.advance(1)
    assert (clients.stored, clients.ids()) == (1, [1])

    response = whole_response()
    clients = Clients(fault_rule(api="Produce", response_bytes_per_second=100, times=1))
    clients.send(frame)
    clients.advance(sending_ms(len(response), 100) - 1)
    assert (clients.stored, clients.ids()) == (1, [])
    clients.advance(1)
    assert clients.ids() == [1]


@pytest.mark.parametrize(("rate", "size", "expected"), [(1000, 1, 1), (1000, 0, 0), (3, 1, 334)])
def test_a_time_is_rounded_up(rate: int, size: int, expected: int) -> None:
    assert sending_ms(size, rate) == expected


@pytest.mark.parametrize("manner", CloseManner)
@pytest.mark.parametrize("at", ["before_handling", "before_response", "within_response"])
def test_a_connection_ends_as_the_rule_says(manner: str, at: str) -> None:
    clients = Clients(fault_rule(api="Produce", drop=at, drop_by=manner))
    clients.send(produce_frame(1) + metadata_frame(2))
    assert (clients.closed[0] or "").startswith("fault #1 drop")
    assert clients.connections[0].close_manner == manner
    assert clients.stored == int(at != "before_handling")
    clients.send(metadata_frame(3))  # what comes later is ignored
    assert clients.ids() == []


@pytest.mark.parametrize(("listener", "expected"), [("PLAINTEXT", 1), ("OTHER", 0)])
def test_a_rule_can_be_for_one_listener(listener: str, expected: int) -> None:
    clients = Clients(fault_rule(listener=listener, delay_ms=0))
    clients.send(metadata_frame(1))
    assert clients.dispatcher.faults.rules()[0].fire_count == expected
