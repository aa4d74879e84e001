"""Requests that are held until they are released."""

from typing import Any

import pytest

from broker.faults import held_requests
from broker.faults.decision import RuleState
from broker.faults.held_requests import HeldRequests
from broker.faults.rule import ContradictionError, fault_rule
from broker.journal.lines import Entry, Outcome
from broker.timers import Timers
from tests.broker.cluster_builder import NOW_MS
from tests.broker.connection_driver import metadata_frame
from tests.broker.faults.faulty_clients import Clients, produce_frame

HOUR_MS = 3_600_000
JOURNAL = {"journal.enable": "true"}


def hold(at: str = "before_handling", **rule: Any) -> Any:
    return fault_rule(api="Produce", hold=at, **rule)


def release(clients: Clients, rule_id: int = 1, count: int | None = None) -> int:
    released = clients.dispatcher.faults.release(rule_id, clients.now_ms, count)
    clients.settle()
    return released


def outcomes(clients: Clients) -> list[Outcome]:
    return [line.outcome for line in clients.dispatcher.journal if isinstance(line, Entry)]


def held_count(clients: Clients) -> int:
    return clients.dispatcher.faults.held.count


@pytest.mark.parametrize(("at", "stored"), [("before_handling", 0), ("before_response", 1)])
def test_a_held_request_waits_for_its_release_and_not_for_the_clock(at: str, stored: int) -> None:
    clients = Clients(hold(at), count=2, overrides=JOURNAL)
    clients.send(produce_frame(1) + metadata_frame(2))
    clients.advance(HOUR_MS)
    assert (clients.ids(), clients.stored) == ([], stored)
    assert outcomes(clients) == [Outcome.HELD]  # what is behind it has not been read
    clients.send(metadata_frame(3), number=1)  # another connection goes on
    assert clients.ids(1) == [3]

    assert release(clients) == 1
    assert (clients.ids(), clients.stored) == ([1, 2], 1)
    assert set(outcomes(clients)) == {Outcome.RESPONDED}
    assert (held_count(clients), clients.dispatcher.faults.held.size_bytes) == (0, 0)
    assert clients.bugs == []


def test_the_oldest_go_on_first_and_the_rule_holds_others_until_all_are_released() -> None:
    clients = Clients(hold(), count=4)
    for number in range(3):
        clients.send(produce_frame(number), number=number)
    assert release(clients, count=2) == 2
    assert [clients.ids(number) for number in range(3)] == [[0], [1], []]
    clients.send(produce_frame(3), number=3)
    (state,) = clients.dispatcher.faults.rules()
    assert (len(state.held), state.is_used_up, state.fire_count) == (2, False, 4)

    assert release(clients) == 2
    assert (clients.ids(2), clients.ids(3), state.is_used_up) == ([2], [3], True)
    clients.send(produce_frame(4), number=0)  # the rule holds no others
    assert clients.ids(0) == [0, 4]
    assert not clients.dispatcher.faults.is_enabled
    assert release(clients) == 0


def test_a_client_that_is_gone_frees_its_request() -> None:
    clients = Clients(hold(), count=2)
    clients.send(produce_frame(1))
    clients.send(produce_frame(2), number=1)
    clients.connections[0].lose()
    assert held_count(clients) == 1
    assert release(clients) == 1
    assert (clients.ids(0), clients.ids(1), clients.stored) == ([], [2], 1)


def test_a_client_that_leaves_between_release_and_handling_stores_nothing() -> None:
    clients = Clients(hold())
    clients.send(produce_frame(1))
    clients.dispatcher.faults.release(1, clients.now_ms)
    clients.connections[0].lose()
    clients.settle()
    assert (clients.stored, held_count(clients), clients.bugs) == (0, 0, [])


@pytest.mark.parametrize("action", ["remove", "clear", "stop"])
def test_a_removed_rule_and_a_broker_that_stops_release_their_requests(action: str) -> None:
    clients = Clients(hold("before_response"))
    clients.send(produce_frame(1))
    if action == "remove":
        assert clients.dispatcher.faults.remove(1)
    elif action == "clear":
        clients.dispatcher.faults.clear()
    else:
        clients.connections[0].force_complete(clients.now_ms)
    clients.settle()
    assert (clients.ids(), held_count(clients), clients.bugs) == ([1], 0, [])


def test_several_rules_hold_a_request_one_after_the_other() -> None:
    clients = Clients(hold(), hold(), hold("before_response"))
    clients.send(produce_frame(1))
    assert release(clients, 1) == 1
    assert [len(state.held) for state in clients.dispatcher.faults.rules()] == [0, 1, 0]
    assert release(clients, 3) == 0  # it holds none when the request gets there
    assert release(clients, 2) == 1
    assert clients.ids() == [1]


def test_a_released_request_goes_on_with_the_other_rules() -> None:
    clients = Clients(hold(), fault_rule(api="Produce", drop="before_handling"))
    clients.send(produce_frame(1))
    assert clients.closed == [None]
    release(clients)
    assert clients.closed[0] is not None
    assert clients.stored == 0


@pytest.mark.parametrize(
    ("limit", "value", "obstacle"),
    [("HELD_MAX", 1, "1 requests are held"), ("HELD_BYTES_MAX", 150, "more than 150 bytes")],
)
def test_what_is_held_has_a_bound_and_what_exceeds_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int, obstacle: str
) -> None:
    monkeypatch.setattr(held_requests, limit, value)
    clients = Clients(hold(), count=2, overrides=JOURNAL)
    for number in range(2):
        clients.send(produce_frame(number), number=number)
    assert [clients.ids(number) for number in range(2)] == [[], [1]]
    (state,) = clients.dispatcher.faults.rules()
    assert (state.fire_count, len(state.held)) == (1, 1)
    *_, last = clients.dispatcher.journal
    assert isinstance(last, Entry)
    assert obstacle in (last.context.fault or "")


def test_a_request_that_fetches_late_is_held_with_its_response() -> None:
    clients = Clients(fault_rule(hold="before_response", api="Metadata", nth=2))
    clients.send(metadata_frame(1) + metadata_frame(2) + metadata_frame(3))
    assert clients.ids() == [1]
    release(clients)
    assert clients.ids() == [1, 2, 3]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"hold": "before_response", "drop": "before_handling"}, "hold: has no effect, drop ends"),
        ({"hold": "before_response", "hang": "before_handling"}, "hold: has no effect, hang ends"),
        ({"hold": "before_handling", "refuse_connection": True}, "hold: a new connection has none"),
        ({"hold": "before_handling", "at_once": True}, "at_once: is for"),
        ({"hold": "before"}, "hold: must be one of before_handling, before_response"),
    ],
)
def test_a_rule_that_could_hold_nothing_is_refused(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fault_rule(**rule)
    assert issubclass(ContradictionError, ValueError)


def test_requests_leave_once() -> None:
    timers = Timers()
    table = HeldRequests(timers)
    state = RuleState(1, hold(), NOW_MS)
    went_on: list[int] = []
    held = table.hold(state, 10, went_on.append)
    assert (table.count, table.size_bytes) == (1, 10)
    assert table.release(state, NOW_MS, 1) == 1
    table.forget(held)
    assert (table.count, table.size_bytes, went_on) == (0, 0, [])
    timers.run_due(NOW_MS + 5)
    assert went_on == [NOW_MS + 5]
    assert not state.is_released
