"""A connection answers in order whatever the cuts, and no bytes make it raise."""

from dataclasses import replace
from struct import pack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import broker.handlers  # noqa: F401 - registers every API
from broker.cluster.cluster import Cluster
from broker.dispatch.connection import WRITE_BYTES_PER_TURN, Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import make_cluster

NOW_MS = 1_700_000_000_000
FRAME_BYTES_MAX = 100_000


class Client:
    """Drives a connection core by hand and keeps what it wrote."""

    def __init__(
        self, cluster: Cluster, broker_id: int = 1, dispatcher: Dispatcher | None = None
    ) -> None:
        self.cluster = cluster
        self.bugs: list[BaseException] = []
        self.written = b""
        self.close_reason: str | None = None
        self.ready_count = 0
        self.dispatcher = dispatcher or Dispatcher(cluster, self._report_bug)
        self.connection = Connection(
            self.dispatcher,
            broker_id=broker_id,
            connection_id=1,
            client_host="127.0.0.1",
            frame_bytes_max=FRAME_BYTES_MAX,
            on_ready=self._on_ready,
        )

    def _report_bug(self, error: BaseException, _context: RequestContext) -> None:
        self.bugs.append(error)

    def _on_ready(self) -> None:
        self.ready_count += 1

    def send(self, data: bytes, now_ms: int = NOW_MS) -> None:
        self._keep(self.connection.receive(data, now_ms))
        self.settle(now_ms)

    def settle(self, now_ms: int) -> None:
        """What the shell does after a read: fire what is due, resume who is ready."""
        self.cluster.timers.run_due(now_ms)
        while self.ready_count:
            self.ready_count -= 1
            self._keep(self.connection.resume(now_ms))

    def _keep(self, effects: Any) -> None:
        self.written += effects.write
        self.close_reason = self.close_reason or effects.close_reason
        if effects.has_more:
            self.ready_count += 1
        if effects.muted_until_ms:
            self.cluster.timers.schedule(
                effects.muted_until_ms, lambda now_ms: self._keep(self.connection.resume(now_ms))
            )

    def correlation_ids(self) -> list[int]:
        """Of the frames written so far, in order."""
        found, position = [], 0
        while position < len(self.written):
            size = int.from_bytes(self.written[position : position + 4], "big")
            found.append(int.from_bytes(self.written[position + 4 : position + 8], "big"))
            position += 4 + size
        assert position == len(self.written)
        return found


def request_frame(message: Any, version: int, correlation_id: int) -> bytes:
    message.API_VERSION = version
    message.with_header(correlation_id, "test")
    return bytes(message.encode(version=version, header=True, framed=True))


def metadata_frame(correlation_id: int) -> bytes:
    return request_frame(messages.MetadataRequest(version=9, topics=[]), 9, correlation_id)


def fetch_frame(correlation_id: int, topic: str, max_wait_ms: int) -> bytes:
    topic_class = messages.FetchRequest.FetchTopic
    part = topic_class.FetchPartition(
        version=11, partition=0, current_leader_epoch=-1, fetch_offset=0, partition_max_bytes=9999
    )
    request = messages.FetchRequest(
        version=11,
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=9999,
        session_epoch=-1,
        topics=[topic_class(version=11, topic=topic, partitions=[part])],
    )
    return request_frame(request, 11, correlation_id)


@given(st.lists(st.integers(1, 90), max_size=30))
def test_any_chunking_gives_the_same_responses(cuts: list[int]) -> None:
    stream = b"".join(metadata_frame(number) for number in range(8))
    whole, cut_up = Client(make_cluster()), Client(make_cluster())
    whole.send(stream)
    position = 0
    for cut in [*cuts, len(stream)]:
        cut_up.send(stream[position : position + cut])
        position += cut

    assert cut_up.written == whole.written
    assert whole.correlation_ids() == list(range(8))


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=200), max_size=8))
def test_arbitrary_bytes_never_raise(chunks: list[bytes]) -> None:
    client = Client(make_cluster())
    for chunk in chunks:
        client.send(chunk)

    assert client.bugs == []


@settings(max_examples=600)
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


def test_a_second_request_waits_until_the_first_is_answered() -> None:
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


def test_one_client_gets_a_bounded_turn_and_the_rest_of_its_responses_in_the_next() -> None:
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


def test_a_lost_client_leaves_no_one_waiting() -> None:
    cluster = make_cluster()
    topic = cluster.create_topic("t", [(1,)], {})
    before = len(cluster.timers)
    client = Client(cluster)
    client.send(fetch_frame(1, "t", max_wait_ms=500))
    assert len(topic.partitions[0].log.waiters) == 1

    client.connection.lose()

    assert not topic.partitions[0].log.waiters
    assert len(cluster.timers) == before


def test_a_stopping_broker_responses_the_fetch_that_waits() -> None:
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
def test_bad_input_closes_the_connection_and_says_why(data: bytes, reason: str) -> None:
    client = Client(make_cluster())
    client.send(metadata_frame(1) + data + metadata_frame(2))

    assert client.close_reason is not None
    assert reason in client.close_reason
    assert client.correlation_ids() == [1]


def test_nothing_is_answered_after_the_end() -> None:
    client = Client(make_cluster())
    client.send(pack(">i", -1))
    client.send(metadata_frame(1))

    assert client.written == b""


def test_an_unknown_version_of_api_versions_is_answered_in_the_oldest_format() -> None:
    client = Client(make_cluster())
    client.send(pack(">ihhih", 10, ApiKey.API_VERSIONS, 77, 5, -1))

    assert client.close_reason is None
    body = client.written[8:]
    response = messages.ApiVersionsResponse.decode(body, version=0)
    assert response.error_code == 35
    assert [(k.api_key, k.min_version, k.max_version) for k in response.api_keys] == [(18, 0, 4)]


def test_a_bug_in_a_handler_closes_that_connection_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: Any) -> Any:
        raise RuntimeError("boom")

    monkeypatch.setitem(ROUTES, ApiKey.METADATA, replace(ROUTES[ApiKey.METADATA], handler=broken))
    client = Client(make_cluster())
    client.send(metadata_frame(1))

    assert [str(bug) for bug in client.bugs] == ["boom"]
    assert client.close_reason is not None
    assert "internal error" in client.close_reason


THROTTLE_TIME_MS = 1500


class CountingQuota:
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.queue_size = 0
        self.notes: list[tuple[str, str | None, int, int]] = []

    def note_throttle(
        self, user: str, client_id: str | None, throttle_time_ms: int, now_ms: int
    ) -> None:
        self.notes.append((user, client_id, throttle_time_ms, now_ms))


def throttle_metadata(
    monkeypatch: pytest.MonkeyPatch, *, expects_response: bool = True
) -> CountingQuota:
    """Have every response of Metadata ask for a wait, on account of the quota returned."""
    quota, lesser = CountingQuota(), CountingQuota()
    handle = ROUTES[ApiKey.METADATA].handler

    def throttled(context: RequestContext, request: Any, cluster: Cluster) -> Any:
        context.throttle(THROTTLE_TIME_MS - 1, lesser, context.now_ms)
        context.throttle(THROTTLE_TIME_MS, quota, context.now_ms)
        context.throttle(THROTTLE_TIME_MS, lesser, context.now_ms)
        return handle(context, request, cluster) if expects_response else None

    route = replace(ROUTES[ApiKey.METADATA], handler=throttled)
    monkeypatch.setitem(ROUTES, ApiKey.METADATA, route)
    return quota


def test_a_throttled_client_is_answered_at_once_and_then_muted(
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


def test_a_client_that_wants_no_response_is_muted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    throttle_metadata(monkeypatch, expects_response=False)
    client = Client(make_cluster())
    client.send(metadata_frame(1) + fetch_frame(2, "none", 0))

    assert client.written == b""
    client.settle(NOW_MS + THROTTLE_TIME_MS)
    assert client.correlation_ids() == [2]


def test_a_client_that_is_gone_is_no_longer_muted(monkeypatch: pytest.MonkeyPatch) -> None:
    quota = throttle_metadata(monkeypatch)
    client = Client(make_cluster())
    client.send(metadata_frame(1))
    client.connection.lose()

    assert quota.queue_size == 0
    client.settle(NOW_MS + THROTTLE_TIME_MS)
    assert quota.queue_size == 0


def test_a_response_that_came_late_is_written_before_the_silence(
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
    # The wait was asked for when the request came; the client hears of it now.
    context.throttle(THROTTLE_TIME_MS, CountingQuota(), NOW_MS)
    pending.complete(messages.MetadataResponse(version=9, brokers=[], topics=[]))
    client.settle(NOW_MS + 100)
    assert client.correlation_ids() == [1]
    client.settle(NOW_MS + 99 + THROTTLE_TIME_MS)
    assert client.correlation_ids() == [1]
    client.settle(NOW_MS + 100 + THROTTLE_TIME_MS)
    assert client.correlation_ids() == [1, 2]
