"""Drive a connection without a socket: requests as bytes in, responses as bytes out."""

from dataclasses import replace
from typing import Any

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.cluster.cluster import Cluster
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.request.context import RequestContext
from broker.request.session import Session
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey

NOW_MS = 1_700_000_000_000
FRAME_BYTES_MAX = 100_000
SASL_BYTES_MAX = 1_000


class Client:
    """Drives a connection core and keeps the bytes that it wrote."""

    def __init__(
        self,
        cluster: Cluster,
        broker_id: int = 1,
        dispatcher: Dispatcher | None = None,
        session: Session | None = None,
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
            sasl_bytes_max=SASL_BYTES_MAX,
            session=session,
        )

    def _report_bug(self, error: BaseException, _context: RequestContext) -> None:
        self.bugs.append(error)

    def _on_ready(self) -> None:
        self.ready_count += 1

    def send(self, data: bytes, now_ms: int = NOW_MS) -> None:
        self._keep(self.connection.receive(data, now_ms))
        self.settle(now_ms)

    def settle(self, now_ms: int) -> None:
        """Do what the server does after a read: run due timers and resume ready connections."""
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
        """Correlation ids of the frames written so far, in order."""
        found, position = [], 0
        while position < len(self.written):
            size = int.from_bytes(self.written[position : position + 4], "big")
            found.append(int.from_bytes(self.written[position + 4 : position + 8], "big"))
            position += 4 + size
        assert position == len(self.written)
        return found


def request_frame(
    message: Any, version: int, correlation_id: int, client_id: str = "test"
) -> bytes:
    message.API_VERSION = version
    message.with_header(correlation_id, client_id)
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


THROTTLE_TIME_MS = 1500


class CountingQuota:
    """Record every throttle that it is notified of."""

    def __init__(self) -> None:
        self.queue_size = 0
        self.notes: list[tuple[str, str | None, int, int]] = []

    def note_throttle(
        self, user: str, client_id: str | None, throttle_time_ms: int, now_ms: int
    ) -> None:
        self.notes.append((user, client_id, throttle_time_ms, now_ms))


def break_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the handler of Metadata raise a RuntimeError."""

    def broken(*_arguments: Any) -> Any:
        raise RuntimeError("boom")

    monkeypatch.setitem(ROUTES, ApiKey.METADATA, replace(ROUTES[ApiKey.METADATA], handler=broken))


def throttle_metadata(
    monkeypatch: pytest.MonkeyPatch, *, expects_response: bool = True
) -> CountingQuota:
    """Throttle every Metadata request; return the quota that does it."""
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
