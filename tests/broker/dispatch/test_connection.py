"""A connection responds in order with any chunking, and no bytes make it raise."""

import gc
from collections.abc import Callable
from dataclasses import replace
from struct import pack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import broker.handlers  # noqa: F401 - registers every API
from broker.cluster.cluster import Cluster
from broker.dispatch.connection import WRITE_BYTES_PER_TURN
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.request.session import Session
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import (
    FRAME_BYTES_MAX,
    NOW_MS,
    SASL_BYTES_MAX,
    THROTTLE_TIME_MS,
    Client,
    CountingQuota,
    break_metadata,
    fetch_frame,
    metadata_frame,
    request_frame,
    throttle_metadata,
)
from tests.broker.dispatch.produce_plans import plans
from tests.broker.dispatch.produce_runs import Change, Produce, run, streams
from tests.examples import examples


@given(st.lists(st.integers(1, 90), max_size=30))
def test_any_chunking_gives_the_same_responses(cuts: list[int]) -> None:
    stream = b"".join(metadata_frame(number) for number in range(8))
    in_one_piece, cut_up = Client(make_cluster()), Client(make_cluster())
    in_one_piece.send(stream)
    position = 0
    for cut in [*cuts, len(stream)]:
        cut_up.send(stream[position : position + cut])
        position += cut

    assert cut_up.written == in_one_piece.written
    assert in_one_piece.correlation_ids() == list(range(8))


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(plans(), st.integers(1, 200))
def test_produce_requests_leave_the_same_behind_with_any_chunking(
    steps: list[Produce | Change], read_bytes_max: int
) -> None:
    in_one_piece, cut_up = run(steps), run(steps, read_bytes_max)
    for found in (in_one_piece, cut_up):
        found["written"] = streams(found["written"])

    for name, value in in_one_piece.items():
        assert cut_up[name] == value, name


@settings(max_examples=examples(300))
@given(st.lists(st.binary(max_size=200), max_size=8))
def test_arbitrary_bytes_never_raise(chunks: list[bytes]) -> None:
    client = Client(make_cluster())
    for chunk in chunks:
        client.send(chunk)

    assert client.bugs == []


@settings(max_examples=examples(600))
@given(
    st.sampled_from(sorted(ROUTES)),
    st.integers(0, 14),
    st.binary(max_size=120),
    st.binary(max_size=120),
)
def test_arbitrary_bodies_behind_a_good_header_never_raise(
    api_key: int, api_version: int, body: bytes, more: bytes
) -> None:
    client = Client(make_cluster())
    frame = pack(">hhih", api_key, api_version, 7, -1) + body
    client.send(pack(">i", len(frame)) + frame + more)

    assert client.bugs == []


def test_a_second_request_waits_for_the_response_to_the_first() -> None:
    cluster = make_cluster()
    cluster.create_topic("t", [(1,)], {})
    client = Client(cluster)
    client.send(fetch_frame(1, "t", max_wait_ms=500) + metadata_frame(2))
    assert client.written == b""
    assert client.connection.is_waiting

    client.settle(NOW_MS + 499)
    assert client.written == b""

    client.settle(NOW_MS + 500)
    assert client.correlation_ids() == [1, 2]
    assert not client.connection.is_waiting


def test_the_response_of_a_wait_is_taken_if_no_other_request_is_behind() -> None:
    cluster = make_cluster()
    cluster.create_topic("t", [(1,)], {})
    alone, followed = Client(cluster), Client(cluster)
    alone.send(fetch_frame(1, "t", max_wait_ms=500))
    followed.send(fetch_frame(1, "t", max_wait_ms=500) + metadata_frame(2))
    assert alone.connection.take_response() is None

    cluster.timers.run_due(NOW_MS + 500)

    assert followed.connection.take_response() is None
    assert followed.connection.resume(NOW_MS + 500).write
    assert followed.connection.take_response() is None
    response = alone.connection.take_response()
    assert response is not None
    assert int.from_bytes(response[4:8]) == 1
    assert not alone.connection.is_waiting
    assert alone.connection.take_response() is None
    assert not alone.connection.resume(NOW_MS + 500).write


def test_no_response_is_taken_after_the_close() -> None:
    cluster = make_cluster()
    cluster.create_topic("t", [(1,)], {})
    client = Client(cluster)
    client.send(fetch_frame(1, "t", max_wait_ms=500))
    cluster.timers.run_due(NOW_MS + 500)
    client.connection.lose()

    assert client.connection.take_response() is None


def test_a_turn_writes_a_bounded_number_of_response_bytes_and_the_next_turn_continues() -> None:
    cluster = make_cluster()
    for number in range(100):
        cluster.create_topic(f"topic-{number}", [(1,)] * 10, {})
    client = Client(cluster)
    everything = messages.MetadataRequest(version=9, topics=None)
    stream = b"".join(request_frame(everything, 9, number) for number in range(50))

    effects = client.connection.receive(stream, NOW_MS)
    assert effects.has_more
    assert len(effects.write) < WRITE_BYTES_PER_TURN + 100_000

    client._keep(effects)
    client.settle(NOW_MS)
    assert client.correlation_ids() == list(range(50))


def test_a_disconnect_cancels_the_pending_response() -> None:
    cluster = make_cluster()
    topic = cluster.create_topic("t", [(1,)], {})
    before = len(cluster.timers)
    client = Client(cluster)
    client.send(fetch_frame(1, "t", max_wait_ms=500))
    assert len(topic.partitions[0].log.waiters) == 1

    client.connection.lose()

    assert not topic.partitions[0].log.waiters
    assert len(cluster.timers) == before


def test_a_broker_that_stops_completes_a_waiting_fetch() -> None:
    cluster = make_cluster()
    cluster.create_topic("t", [(1,)], {})
    client = Client(cluster)
    client.send(fetch_frame(1, "t", max_wait_ms=500))

    client.connection.force_complete(NOW_MS)
    client.settle(NOW_MS)

    assert client.correlation_ids() == [1]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pack(">i", -5), "negative size"),
        (pack(">i", FRAME_BYTES_MAX + 1), "socket.request.max.bytes"),
        (pack(">i", 3) + b"abc", "too short"),
        (pack(">ihhih", 10, 9999, 0, 1, -1), "unknown API key 9999"),
        (pack(">ihhih", 10, ApiKey.METADATA, 99, 1, -1), "unsupported version 99 of METADATA"),
        (pack(">ihhih", 10, ApiKey.PRODUCE, 2, 1, -1), "unsupported version 2 of PRODUCE"),
        (pack(">ihhih", 10, ApiKey.METADATA, 4, 1, -1), "undecodable METADATA v4"),
        (pack(">ihhih", 10, ApiKey.METADATA, 4, 1, 50), "client id of 50 bytes"),
        (pack(">ihhih", 11, ApiKey.METADATA, 4, 1, 1) + b"\xff", "not UTF-8"),
    ],
)
def test_invalid_input_closes_the_connection_with_a_reason(data: bytes, reason: str) -> None:
    client = Client(make_cluster())
    client.send(metadata_frame(1) + data + metadata_frame(2))

    assert client.close_reason is not None
    assert reason in client.close_reason
    assert client.correlation_ids() == [1]


def test_a_client_that_has_to_authenticate_sends_small_requests_until_it_has() -> None:
    large = (FRAME_BYTES_MAX).to_bytes(4, "big") + bytes(10)
    stranger = Client(make_cluster(), session=Session("SASL_PLAINTEXT", is_sasl=True))
    stranger.send(large)
    limit = f"sasl.server.max.receive.size ({SASL_BYTES_MAX})"
    assert stranger.close_reason == f"frame of {FRAME_BYTES_MAX} bytes is larger than {limit}"

    session = Session("SASL_PLAINTEXT", is_sasl=True)
    known = Client(make_cluster(), session=session)
    session.authenticate("alice", None)
    known.send(large)
    assert known.close_reason is None
    assert known.connection.buffered_bytes == len(large)


def test_no_request_is_handled_after_the_close() -> None:
    client = Client(make_cluster())
    client.send(pack(">i", -1))
    client.send(metadata_frame(1))

    assert client.written == b""


def test_an_unknown_version_of_api_versions_gets_a_response_in_version_0() -> None:
    client = Client(make_cluster())
    client.send(pack(">ihhihB", 11, ApiKey.API_VERSIONS, 77, 5, -1, 0))

    assert client.close_reason is None
    body = client.written[8:]
    response = messages.ApiVersionsResponse.decode(body, version=0)
    assert response.error_code == 35
    assert [(k.api_key, k.min_version, k.max_version) for k in response.api_keys] == [(18, 0, 5)]


def test_the_header_of_an_unknown_version_of_api_versions_must_be_complete() -> None:
    client = Client(make_cluster())
    client.send(pack(">ihhih", 10, ApiKey.API_VERSIONS, 77, 5, -1))

    assert client.written == b""
    assert "undecodable request header" in str(client.close_reason)


def test_an_exception_in_a_handler_closes_only_that_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_metadata(monkeypatch)
    client = Client(make_cluster())
    client.send(metadata_frame(1))

    assert [str(bug) for bug in client.bugs] == ["boom"]
    assert client.close_reason is not None
    assert "internal error" in client.close_reason


def test_a_throttled_client_gets_its_response_at_once_and_is_muted_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quota = throttle_metadata(monkeypatch)
    client = Client(make_cluster())
    client.send(metadata_frame(1) + metadata_frame(2))

    assert client.correlation_ids() == [1]
    body = client.written[9:]
    response = messages.MetadataResponse.decode(body, version=9)
    assert response.throttle_time_ms == THROTTLE_TIME_MS
    assert client.connection.is_waiting
    assert quota.queue_size == 1
    assert quota.notes == [("ANONYMOUS", "test", THROTTLE_TIME_MS, NOW_MS)]

    client.send(metadata_frame(3), NOW_MS + THROTTLE_TIME_MS - 1)
    assert client.correlation_ids() == [1]
    client.settle(NOW_MS + THROTTLE_TIME_MS)
    assert client.correlation_ids() == [1, 2]
    client.settle(NOW_MS + 2 * THROTTLE_TIME_MS)
    assert client.correlation_ids() == [1, 2, 3]
    client.settle(NOW_MS + 3 * THROTTLE_TIME_MS)
    assert not client.connection.is_waiting
    assert quota.queue_size == 0


def test_a_throttled_produce_with_acks_0_mutes_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    throttle_metadata(monkeypatch, expects_response=False)
    client = Client(make_cluster())
    client.send(metadata_frame(1) + fetch_frame(2, "none", 0))

    assert client.written == b""
    client.settle(NOW_MS + THROTTLE_TIME_MS)
    assert client.correlation_ids() == [2]


def test_a_disconnect_ends_the_mute(monkeypatch: pytest.MonkeyPatch) -> None:
    quota = throttle_metadata(monkeypatch)
    client = Client(make_cluster())
    client.send(metadata_frame(1))
    client.connection.lose()

    assert quota.queue_size == 0
    client.settle(NOW_MS + THROTTLE_TIME_MS)
    assert quota.queue_size == 0


def test_a_late_response_is_written_before_the_mute_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting: list[tuple[RequestContext, PendingResponse]] = []

    def wait(context: RequestContext, _request: Any, _cluster: Cluster) -> PendingResponse:
        waiting.append((context, PendingResponse()))
        return waiting[0][1]

    route = replace(ROUTES[ApiKey.METADATA], handler=wait)
    monkeypatch.setitem(ROUTES, ApiKey.METADATA, route)
    client = Client(make_cluster())
    client.send(metadata_frame(1) + fetch_frame(2, "none", 0))

    ((context, pending),) = waiting
    # The throttle was recorded when the request arrived; the mute begins now.
    context.throttle(THROTTLE_TIME_MS, CountingQuota(), NOW_MS)
    pending.complete(messages.MetadataResponse(version=9, brokers=[], topics=[]))
    client.settle(NOW_MS + 100)
    assert client.correlation_ids() == [1]
    client.settle(NOW_MS + 99 + THROTTLE_TIME_MS)
    assert client.correlation_ids() == [1]
    client.settle(NOW_MS + 100 + THROTTLE_TIME_MS)
    assert client.correlation_ids() == [1, 2]


def wake(client: Client) -> None:
    client.settle(NOW_MS + 500)


def lose(client: Client) -> None:
    client.connection.lose()


@pytest.mark.slow
@pytest.mark.parametrize("end", [wake, lose])
def test_a_request_that_waited_leaves_no_work_for_the_garbage_collector(
    end: Callable[[Client], None],
) -> None:
    cluster = make_cluster(1, **{"journal.enable": "true", "journal.entries.max": "1"})
    cluster.create_topic("t", [(1,)], {})
    client = Client(cluster)

    def wait() -> None:
        client.send(fetch_frame(1, "t", max_wait_ms=500))
        client.send(fetch_frame(2, "t", max_wait_ms=500))
        end(client)

    wait()
    client = Client(cluster, dispatcher=client.dispatcher)
    gc.collect()
    gc.disable()
    try:
        wait()
        assert gc.collect() == 0
    finally:
        gc.enable()
