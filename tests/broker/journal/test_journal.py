"""The journal keeps requests in order and within its bounds, and nothing while disabled."""

from dataclasses import replace
from itertools import count
from struct import pack, unpack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import broker.handlers  # noqa: F401 - registers every API
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.journal.journal import (
    Arrival,
    Disconnect,
    Entry,
    Journal,
    Line,
    Outcome,
    errors_of,
    request_of,
    response_of,
    targets_of,
)
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
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
    # JoinGroup waits; the others close the connection of an empty request.
    others = {ApiKey.JOIN_GROUP, ApiKey.SASL_AUTHENTICATE, ApiKey.DESCRIBE_ACLS}
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


@given(
    st.integers(1, 8),
    st.integers(20, 300),
    st.booleans(),
    st.lists(
        st.one_of(
            st.lists(st.integers(8, 30), min_size=1, max_size=5),
            st.sampled_from(["clear", "look"]),
        ),
        max_size=30,
    ),
)
def test_a_journal_of_runs_has_the_same_lines_as_one_of_requests(
    entries_max: int, bytes_max: int, has_acks: bool, steps: list[list[int] | str]
) -> None:
    runs, requests = (Journal(entries_max, bytes_max, is_enabled=True) for _ in range(2))
    context = make_context(ApiKey.PRODUCE, 9)
    correlation_ids = count(1)
    for step in steps:
        if step == "clear":
            runs.clear()
            requests.clear()
        elif isinstance(step, str):  # look
            assert [described(line) for line in runs] == [described(line) for line in requests]
        else:
            frames = [bytes(4) + pack(">i", next(correlation_ids)) + bytes(n - 8) for n in step]
            responses = [frame[:8] for frame in frames] if has_acks else []
            data = b"".join(pack(">i", len(frame)) + frame for frame in frames)
            made = [
                replace(context, correlation_id=unpack(">i", frame[4:8])[0], size_bytes=len(frame))
                for frame in frames
            ]
            if runs.takes_run(len(data)):
                runs.add_run(context, data, responses, 0, len(frames) * 7000)
            for index, frame in enumerate(frames):
                response = responses[index] if has_acks else None
                for journal in (runs, requests) if not runs.takes_run(len(data)) else (requests,):
                    entry = journal.begin(made[index], frame, 0, len(frame), 0)
                    journal.end(entry, response, 7000)
        assert runs.last_number == requests.last_number
    assert (len(runs), runs.byte_count) == (len(requests), requests.byte_count)
    lines = [described(line) for line in runs]
    assert lines == [described(line) for line in requests]
    assert [described(line) for line in reversed(runs)] == lines[::-1]
    assert all(first is second for first, second in zip(runs, runs, strict=True))


def described(line: Line) -> tuple[Any, ...]:
    assert isinstance(line, Entry)
    return line.number, line.context, line.frame, line.response, line.outcome, line.duration_us


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

    assert request_of(entry).startswith("undecodable")
    assert response_of(entry).startswith("undecodable")
    assert errors_of(entry) == frozenset()


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
