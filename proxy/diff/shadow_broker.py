"""Our broker without sockets: requests of shadow connections in, answers out."""

from collections.abc import Callable
from typing import Any, Protocol

from broker.cluster.cluster import Cluster
from broker.request.session import Session
from broker.responses import Close, CompletedResponse, DispatchResult, PendingFrame, frame_of
from protocol.framing import SIZE_BYTES
from proxy.diff.played_request import CLOSED

Answer = bytes | dict[str, str] | None
"""A response frame without its size, what there is instead, or None for no response."""


class Peer(Protocol):
    """A connection whose requests are played; `ShadowConnection` is one."""

    session: Session
    fetch_offsets: dict[tuple[str, int], int]
    """From where the client has last read each partition, by topic and index."""

    def advance(self, now_ms: int) -> None:
        """Play the requests whose turn has come."""


class LeaderPeer:
    """A connection to the leader of a partition, with the rights of a client's session."""

    connection_id = -1
    client_host = "127.0.0.1"

    def __init__(self, leader_id: int, session: Session) -> None:
        self.broker_id = leader_id
        self.session = session


class Dispatches(Protocol):
    """Handles the requests of connections, as `broker.dispatch.dispatcher.Dispatcher` does."""

    def dispatch(self, frame: tuple[bytes, int, int], connection: Any, now_ms: int) -> Any:
        """Handle one frame of a connection."""


class ShadowBroker:
    """Hands requests to a dispatcher; quotas mute none of its connections."""

    def __init__(self, cluster: Cluster, dispatcher: Dispatches) -> None:
        self.cluster = cluster
        self._dispatcher = dispatcher
        self.played_count = 0
        """How many requests it has got."""

    def play(self, frame: bytes, peer: Any, now_ms: int, deliver: Callable[[Answer], None]) -> None:
        """Handle a request, and call `deliver` once, now or when a response has come.

        A response that comes later is delivered after the request or timer that has caused it.
        """
        self.played_count += 1
        result: DispatchResult = self._dispatcher.dispatch((frame, 0, len(frame)), peer, now_ms)
        if not isinstance(result, PendingFrame):
            deliver(_answer(result))
            return
        pending, encode = result
        if pending.is_done:
            deliver(_answer(encode(pending.response)))
            return
        timers = self.cluster.timers

        def arrived(response: Any) -> None:
            answer = _answer(encode(response))
            timers.call_soon(max(now_ms, timers.latest_ms), lambda _now_ms: deliver(answer))

        pending.attach(arrived)

    def log_end_offset(self, topic: str, partition_index: int) -> int | None:
        """Return where the log of a partition ends, or None if there is no such partition."""
        found = self.cluster.topics.get(topic)
        partition = None if found is None else found.partition(partition_index)
        return None if partition is None else partition.log.log_end_offset


def _answer(response: CompletedResponse) -> Answer:
    frame = frame_of(response)
    if frame is not None:
        return bytes(frame[SIZE_BYTES:])
    return CLOSED if isinstance(response, Close) else None
