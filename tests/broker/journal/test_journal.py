"""The journal keeps requests in order and within its bounds, and nothing while disabled."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import broker.handlers  # noqa: F401 - registers every API
from broker.authorization.authorizer import DEFAULT_DENY
from broker.authorization.checks import READ_TOPIC, Denial
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.journal import journal as journal_module
from broker.journal.journal import (
    DENIAL_BYTES,
    DROPPED_TOGETHER,
    Journal,
    errors_of,
    request_of,
    response_of,
    targets_of,
)
from broker.journal.lines import Arrival, Disconnect, Entry, Outcome
from broker.journal.rendering import describe_line
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import ROUTES
from protocol import json_view, messages
from protocol.api_keys import ApiKey
from protocol.request_targets import RequestTargets
from tests.broker.cluster_builder import ALL_VERSIONS, NOW_MS, make_cluster, make_context
from tests.broker.connection_driver import (
    THROTTLE_TIME_MS,
    Client,
    fetch_frame,
    metadata_frame,
    request_frame,
    throttle_metadata,
)
from tests.broker.journal.journalled_cluster import journalled_cluster, produce_frame


def entries(client: Client) -> list[Entry]:
    return [line for line in client.dispatcher.journal if isinstance(line, Entry)]


def connection(connection_id: int) -> Connection:
    """Return a connection without a client."""
    return Connection(
        Dispatcher(make_cluster(1), lambda *_rest: None),
        broker_id=1,
        connection_id=connection_id,
        client_host="127.0.0.1",
        frame_bytes_max=100,
        on_ready=lambda: None,
    )


def test_a_disabled_journal_keeps_nothing() -> None:
    client = Client(make_cluster(1))
    client.send(metadata_frame(1))
    assert len(client.dispatcher.journal) == 0

    client.dispatcher.journal.is_enabled = True
    client.send(metadata_frame(2))
    (entry,) = entries(client)
    assert entry.context.correlation_id == 2


def test_a_request_is_kept_with_its_response_and_client() -> None:
    client = Client(journalled_cluster())
    client.cluster.create_topic("orders", [(1,)], {})
    client.send(produce_frame("orders") + produce_frame("nowhere", 2))

    good, bad = entries(client)
    assert (good.number, bad.number) == (1, 2)
    assert {good.outcome, bad.outcome} == {Outcome.RESPONDED}
    assert good.context.client_id == "test"
    assert client.written == (good.response or b"") + (bad.response or b"")
    assert targets_of(good).topics == {"orders"}
    assert errors_of(good) == frozenset()
    assert errors_of(bad) == frozenset({"UNKNOWN_TOPIC_OR_PARTITION"})
    assert request_of(good).topic_data[0].name == "orders"
    assert response_of(good).responses[0].partition_responses[0].base_offset == 0
    assert good.duration_us is not None


def test_frames_of_every_served_api_can_be_decoded() -> None:
    client = Client(journalled_cluster(**ALL_VERSIONS))
    # JoinGroup waits; the others close the connection of an empty request, or there is none.
    others = {
        ApiKey.JOIN_GROUP,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
    }
    for api_key, route in ROUTES.items():
        if route.is_raw or api_key in others:
            continue
        request_class = messages.request_class(route.api_key)
        for version in range(route.version_min, route.version_max + 1):
            client.send(request_frame(request_class(version=version), version, version))

    assert client.bugs == []
    for entry in entries(client):
        assert not isinstance(request_of(entry), str), request_of(entry)
        assert not isinstance(response_of(entry), str), response_of(entry)
    assert len(entries(client)) > 150


def test_a_produce_without_acks_has_no_response() -> None:
    client = Client(journalled_cluster())
    client.cluster.create_topic("orders", [(1,)], {})
    client.send(produce_frame("orders", acks=0))

    (entry,) = entries(client)
    assert entry.outcome is Outcome.NO_RESPONSE
    assert entry.response is None


def test_a_request_is_an_entry_before_its_late_response() -> None:
    client = Client(journalled_cluster())
    client.cluster.create_topic("t", [(1,)], {})
    client.send(fetch_frame(1, "t", max_wait_ms=500))
    (entry,) = entries(client)
    assert entry.outcome is Outcome.WAITING
    assert targets_of(entry).topics == {"t"}
    assert errors_of(entry) == frozenset()

    client.settle(NOW_MS + 500)
    (same,) = entries(client)
    assert same.outcome is Outcome.RESPONDED
    assert errors_of(entry) == frozenset()
    assert entry.response == client.written


def test_a_request_without_a_response_says_how_its_connection_ended() -> None:
    client = Client(journalled_cluster())
    journal = client.dispatcher.journal
    client.cluster.create_topic("t", [(1,)], {})
    client.send(fetch_frame(1, "t", max_wait_ms=500))
    client.connection.lose()
    journal.disconnected(client.connection, "client disconnected", NOW_MS)

    request, disconnect = journal
    assert isinstance(request, Entry)
    assert isinstance(disconnect, Disconnect)
    assert request.outcome is Outcome.CLOSED
    assert request.close_reason == disconnect.reason == "client disconnected"


def test_an_entry_has_the_throttle_time_of_a_muted_client(monkeypatch: pytest.MonkeyPatch) -> None:
    throttle_metadata(monkeypatch)
    client = Client(journalled_cluster())
    client.send(metadata_frame(1))

    (entry,) = entries(client)
    assert entry.context.throttle_time_ms == THROTTLE_TIME_MS
    assert entry.response == client.written


def test_a_request_that_closes_its_connection_has_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    response = messages.MetadataResponse(version=9, brokers=[], topics=[])
    for closing in (Close("enough"), Close("enough", response)):
        route = replace(ROUTES[ApiKey.METADATA], handler=lambda *_rest, closing=closing: closing)
        monkeypatch.setitem(ROUTES, ApiKey.METADATA, route)
        client = Client(journalled_cluster())
        client.send(metadata_frame(1))

        (entry,) = entries(client)
        assert (entry.outcome, entry.close_reason) == (Outcome.CLOSED, "enough")
        assert (entry.response or b"") == client.written


def test_a_request_whose_handler_raises_is_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: Any) -> None:
        raise ZeroDivisionError

    route = replace(ROUTES[ApiKey.METADATA], handler=fail)
    monkeypatch.setitem(ROUTES, ApiKey.METADATA, route)
    client = Client(journalled_cluster())
    client.send(metadata_frame(1))

    (entry,) = entries(client)
    assert "internal error" in (entry.close_reason or "")


@given(
    st.integers(1, 5),
    st.integers(0, 60),
    st.lists(
        st.tuples(
            st.sampled_from(["ask", "park", "response", "lose", "clear"]), st.integers(0, 40)
        ),
        max_size=40,
    ),
)
def test_the_bounds_of_the_journal_always_hold(
    entries_max: int, bytes_max: int, steps: list[tuple[str, int]]
) -> None:
    journal = Journal(entries_max, bytes_max, is_enabled=True)
    pending: list[Entry] = []
    asked_count = 0
    for number, (step, size) in enumerate(steps):
        if step in {"ask", "park"}:
            asked_count += 1
            context = make_context(ApiKey.METADATA, 9, connection_id=number)
            entry = journal.begin(context, bytes(size), 0, size, 0)
            if step == "park":
                journal.wait(entry)
                pending.append(entry)
            else:
                journal.end(entry, bytes(size), 1000)
        elif step == "response" and pending:
            journal.end(pending.pop(), bytes(size), 2000)
        elif step == "lose" and pending:
            entry = pending.pop()
            journal.disconnected(connection(entry.context.connection_id), "gone", NOW_MS)
            asked_count += 1
        elif step == "clear":
            journal.clear()
        assert len(journal) <= entries_max
        assert sum(line.byte_count for line in journal) == journal.byte_count <= bytes_max
    assert journal.last_number == asked_count
    numbers = [line.number for line in journal]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(("bytes_max", "kept_count"), [(3 * DENIAL_BYTES + 3, 1), (10**6, 5)])
def test_the_denials_of_requests_are_within_its_bounds(bytes_max: int, kept_count: int) -> None:
    journal = Journal(10, bytes_max, is_enabled=True)
    for number in range(5):
        context = make_context(ApiKey.METADATA, 9, connection_id=number)
        entry = journal.begin(context, bytes(1), 0, 1, 0)
        context.denials = (Denial(READ_TOPIC, "t", DEFAULT_DENY),) * 2
        journal.end(entry, bytes(1), 1000)
        assert sum(line.byte_count for line in journal) == journal.byte_count <= bytes_max
    assert len(journal) == kept_count


def test_a_frame_beyond_journal_bytes_max_is_recorded_without_its_bytes() -> None:
    client = Client(journalled_cluster(**{"journal.bytes.max": "10"}))
    client.send(metadata_frame(1))

    (entry,) = entries(client)
    assert entry.frame is None
    assert entry.response is None
    assert entry.outcome is Outcome.RESPONDED
    assert request_of(entry) is response_of(entry) is None
    assert targets_of(entry).topics == frozenset()


def test_listeners_get_every_new_and_changed_line_until_they_unsubscribe() -> None:
    client = Client(journalled_cluster())
    client.cluster.create_topic("t", [(1,)], {})
    heard: list[tuple[int, str]] = []
    end = client.dispatcher.journal.subscribe(
        lambda line: heard.append((line.number, getattr(line, "outcome", "disconnect")))
    )
    client.send(metadata_frame(1) + fetch_frame(2, "t", max_wait_ms=500))
    client.settle(NOW_MS + 500)
    client.dispatcher.journal.disconnected(client.connection, "gone", NOW_MS)
    end()
    client.send(metadata_frame(3), NOW_MS + 500)

    assert heard == [(1, "responded"), (2, "waiting"), (2, "responded"), (3, "disconnect")]


def test_a_response_to_a_removed_entry_is_not_kept() -> None:
    client = Client(journalled_cluster())
    client.cluster.create_topic("t", [(1,)], {})
    client.send(fetch_frame(1, "t", max_wait_ms=500))
    client.dispatcher.journal.clear()
    client.settle(NOW_MS + 500)

    assert client.written
    assert client.dispatcher.journal.byte_count == 0


def test_an_undecodable_frame_is_shown_as_a_message() -> None:
    journal = Journal(5, 1000, is_enabled=True)
    context: RequestContext = make_context(ApiKey.METADATA, 9)
    entry = journal.begin(context, b"nonsense", 0, 8, 0)
    journal.end(entry, b"more of it", 0)

    assert request_of(entry).startswith("undecodable: ")
    assert request_of(entry).endswith(f" ({b'nonsense'.hex()})")
    assert response_of(entry).startswith("undecodable: ")
    assert targets_of(entry) == RequestTargets()
    assert errors_of(entry) == frozenset()


def test_the_text_for_an_undecodable_frame_is_short_and_has_no_secrets() -> None:
    journal = Journal(5, 2000, is_enabled=True)
    frame = b"x" * 1000
    shown = journal.begin(make_context(ApiKey.METADATA, 9), frame, 0, 1000, 0)
    hidden = journal.begin(make_context(ApiKey.SASL_AUTHENTICATE, 2), frame, 0, 1000, 0)
    assert request_of(shown).endswith(f"({frame[:500].hex()}... of 1000 bytes)")
    assert frame[:2].hex() not in request_of(hidden)


@pytest.mark.parametrize("function", ["request_targets", "json_view"])
def test_an_entry_whose_explanation_fails_is_listed(
    monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    def fail(*_arguments: Any) -> Any:
        raise AttributeError("no such attribute")

    if function == "json_view":
        monkeypatch.setattr(json_view, "as_plain", fail)
    else:
        monkeypatch.setattr(journal_module, "request_targets", fail)
    client = Client(journalled_cluster())
    client.send(metadata_frame(1))
    [line] = client.dispatcher.journal
    described = describe_line(line, lambda _topic_id: None)
    assert described["request"].startswith("undecodable: no such attribute (0003")
    assert described["topics"] == []


def test_a_pending_response_that_completes_at_once_is_a_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pending = PendingResponse()
    pending.complete(messages.MetadataResponse(version=9, brokers=[], topics=[]))
    route = replace(ROUTES[ApiKey.METADATA], handler=lambda *_rest: pending)
    monkeypatch.setitem(ROUTES, ApiKey.METADATA, route)
    client = Client(journalled_cluster())
    client.send(metadata_frame(1))

    (entry,) = entries(client)
    assert entry.outcome is Outcome.RESPONDED


def test_a_refused_connection_is_a_line_while_the_journal_is_enabled() -> None:
    journal = Journal(2, 1000, is_enabled=True)
    heard: list[int] = []
    journal.subscribe(lambda line: heard.append(line.number))

    def arrive(journal: Journal, peer: str) -> None:
        journal.arrived(
            1, peer, is_refused=True, delay_ms=5, fault="#1 refuse_connection", time_ms=NOW_MS
        )

    for number in range(3):
        arrive(journal, f"10.0.0.1:{number}")
    lines = list(journal)
    assert [line.number for line in lines] == [2, 3]
    assert heard == [1, 2, 3]
    assert isinstance(lines[0], Arrival)
    assert (lines[0].outcome, lines[0].peer) == (Outcome.REFUSED, "10.0.0.1:1")
    journal.is_enabled = False
    arrive(journal, "10.0.0.1:9")
    assert len(journal) == 2


def test_lines_beyond_the_limit_are_dropped_together_and_never_seen() -> None:
    journal = Journal(5, 1 << 20, is_enabled=True)
    context = make_context(ApiKey.METADATA, 9)
    for number in range(1, 300):
        frame = metadata_frame(number)
        journal.end(journal.begin(context, frame, 4, len(frame), 0), b"response", 0)
        assert len(journal._lines) <= 5 + DROPPED_TOGETHER
    numbers = [line.number for line in journal]

    assert numbers == [295, 296, 297, 298, 299]
    assert len(journal) == len(journal._lines) == 5
