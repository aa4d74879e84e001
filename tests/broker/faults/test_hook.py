"""A hook gets each request as the journal shows it; its rule applies to that request."""

from typing import TYPE_CHECKING, Any

import pytest

from broker.faults import FaultRule, fault_rule
from broker.faults.hook import PlainHook, hook_of
from tests.broker.connection_driver import metadata_frame
from tests.broker.faults.faulty_clients import Clients, base_offset, offset, produce_frame

if TYPE_CHECKING:
    from collections.abc import Mapping


def hooked(function: PlainHook, *rules: FaultRule) -> Clients:
    clients = Clients(*rules)
    clients.dispatcher.faults.set_hook(hook_of(function, clients.dispatcher.faults.topic_name))
    return clients


class Watcher:
    """A hook that returns no rule."""

    def __init__(self) -> None:
        self.seen: list[Mapping[str, Any]] = []

    def __call__(self, request: "Mapping[str, Any]") -> None:
        self.seen.append(request)


def test_a_hook_gets_the_client_and_the_request() -> None:
    watcher = Watcher()
    clients = hooked(watcher)
    clients.send(produce_frame(1) + metadata_frame(2))
    assert clients.ids() == [1, 2]
    produce, metadata = watcher.seen
    assert (produce["api"], produce["version"], produce["client_id"]) == ("Produce", 8, "test")
    assert (produce["user"], produce["broker"], produce["connection"]) == ("ANONYMOUS", 1, 1)
    assert produce["topics"] == [clients.topic.name]
    (topic,) = produce["request"]["topic_data"]
    assert topic["partition_data"][0]["records"]["batch_count"] == 1
    assert (metadata["api"], metadata["correlation_id"]) == ("Metadata", 2)


def test_a_rule_of_a_hook_applies_to_that_request_alone() -> None:
    given: list[dict[str, Any]] = [{"response": offset(41)}]
    clients = hooked(lambda _request: given.pop() if given else None)
    clients.send(produce_frame(1))
    assert base_offset(clients) == 41
    clients.send(produce_frame(2))
    assert clients.ids() == [1, 2]
    assert clients.dispatcher.faults.rules() == []


def test_a_hook_does_not_get_requests_that_a_rule_decides() -> None:
    watcher = Watcher()
    drop = fault_rule(api="Metadata", drop="before_handling")
    delay = fault_rule(api="Produce", delay_ms=5)
    clients = hooked(watcher, drop, delay)
    clients.send(produce_frame(1) + metadata_frame(2))
    clients.advance(5)
    assert [request["api"] for request in watcher.seen] == ["Produce"]


@pytest.mark.parametrize("returned", [{"eror": "NONE"}, {"error": "NONE"}, 3])
def test_an_invalid_rule_of_a_hook_closes_the_connection_and_is_reported(returned: Any) -> None:
    clients = hooked(lambda _request: returned)
    clients.send(metadata_frame(1))
    assert (len(clients.bugs), clients.responses()) == (1, [])
    assert clients.closed[0] is not None


def test_a_hook_can_be_removed_and_is_removed_by_a_reset() -> None:
    for is_reset in (False, True):
        clients = hooked(lambda _request: {"drop": "before_handling"})
        assert clients.dispatcher.faults.is_enabled
        clients.dispatcher.faults.clear()
        assert clients.dispatcher.faults.is_enabled
        if is_reset:
            clients.dispatcher.faults.reset()
        else:
            clients.dispatcher.faults.set_hook(None)
        assert not clients.dispatcher.faults.is_enabled


def test_a_rule_of_a_hook_cannot_hold_because_nothing_could_release_it() -> None:
    clients = hooked(lambda _request: {"hold": "before_handling"})
    clients.send(metadata_frame(1))
    assert [str(bug) for bug in clients.bugs] == [
        "hold: nothing could release it; add a rule in place of the hook"
    ]
