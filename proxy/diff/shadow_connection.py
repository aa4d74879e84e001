"""A client's connection to our broker, beside the one to the real cluster.

A request is played when the real cluster has answered it, so that our broker sees the requests of
all connections in the order in which the cluster handled them. JoinGroup and SyncGroup, which
wait for other members, are played a moment after they were sent. A Produce request waits until our
log is as long as the real one was before it. Nothing here delays the client.
"""

from collections import deque
from typing import TYPE_CHECKING, Any

from broker.request.session import Session
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, encode_request
from proxy.diff.exchange import Exchange
from proxy.diff.shadow_broker import Answer

if TYPE_CHECKING:
    from proxy.diff.shadow import Shadow

BARRIER_DELAY_MS = 50
"""An answer that takes longer than this is one that waits for other members."""
ORDER_WAIT_MS_MAX = 1000
"""How long a batch waits for those that came before it in the real log."""

_BARRIERS = frozenset({ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})
_AUTHENTICATION = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})


class ShadowConnection:
    """The state machine of one connection; it calls nothing that waits, and raises nothing."""

    def __init__(
        self, shadow: "Shadow", node_id: int, client_host: str, connection_id: int
    ) -> None:
        self.broker_id = node_id
        self.client_host = client_host
        self.connection_id = connection_id
        self.session = Session()
        self.fetch_offsets: dict[tuple[str, int], int] = {}
        """From where the client has last read each partition."""
        self._shadow = shadow
        self._waiting: deque[Exchange] = deque()
        """Requests that were not played yet, in their order."""
        self._unanswered: deque[Exchange] = deque()
        """Requests that the real cluster has not answered yet, in their order."""
        self._is_playing = False
        self._is_advancing = False

    def see_request(self, frame: bytes, now_ms: int) -> None:
        """Take a request that is sent to the real cluster, without its size."""
        try:
            exchange = Exchange(frame, now_ms)
        except DecodeError:
            return
        if exchange.header.api_key in _AUTHENTICATION:
            return
        if exchange.has_response:
            self._unanswered.append(exchange)
        self._waiting.append(exchange)
        if exchange.api_key in _BARRIERS:
            self._shadow.later(
                now_ms + BARRIER_DELAY_MS, lambda late: self._end_wait(exchange, late)
            )
        self.advance(now_ms)

    def see_response(self, frame: bytes, now_ms: int) -> None:
        """Take the response of the real cluster to the oldest request without one."""
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        if not self._unanswered or self._unanswered[0].correlation_id != correlation_id:
            return  # that of an authentication
        exchange = self._unanswered.popleft()
        exchange.real, exchange.answered_ms = frame, now_ms
        if exchange.ours is not None:
            self._shadow.compare(self, exchange, now_ms)
        self.advance(now_ms)

    def see_principal(self, principal: str) -> None:
        """Take the user whom the real cluster has authenticated, such as `alice`."""
        self.session.authenticate(principal, None)

    def close(self, now_ms: int) -> None:
        """Note that the connection has ended; what has no response is not compared."""
        for exchange in self._unanswered:
            self._shadow.lose(self, exchange)
        self._unanswered.clear()
        self._waiting = deque(exchange for exchange in self._waiting if exchange.real is not None)
        self.advance(now_ms)

    def advance(self, now_ms: int) -> None:
        """Play the requests whose turn has come."""
        if self._is_advancing:
            return
        self._is_advancing = True
        try:
            while self._waiting and not self._is_playing:
                exchange = self._waiting[0]
                if not self._may_play(exchange, now_ms):
                    return
                self._waiting.popleft()
                self._play(exchange, now_ms)
        finally:
            self._is_advancing = False

    def _may_play(self, exchange: Exchange, now_ms: int) -> bool:
        if exchange.api_key in _BARRIERS and exchange.is_overdue:
            return True
        if exchange.real is None:
            return not exchange.has_response
        if exchange.api_key is not ApiKey.PRODUCE or exchange.is_overdue:
            return True
        if self._shadow.is_next(exchange):
            return True
        self._shadow.park(self)
        if not exchange.is_parked:
            exchange.is_parked = True
            due_ms = exchange.answered_ms + ORDER_WAIT_MS_MAX
            self._shadow.later(due_ms, lambda late: self._end_wait(exchange, late))
        return False

    def _end_wait(self, exchange: Exchange, now_ms: int) -> None:
        exchange.is_overdue = True
        self.advance(now_ms)

    def _play(self, exchange: Exchange, now_ms: int) -> None:
        frame = self._shadow.prepared(exchange)
        if frame is None:
            return
        self._is_playing = True
        self._shadow.broker.play(
            frame, self, now_ms, lambda answer: self._take(exchange, answer, now_ms)
        )

    def _take(self, exchange: Exchange, answer: Answer, now_ms: int) -> None:
        self._is_playing = False
        exchange.ours = answer
        if isinstance(answer, dict):
            principal = self.session.principal
            self.session = Session(principal=principal)
        if exchange.real is not None or not exchange.has_response:
            self._shadow.compare(self, exchange, now_ms)
        self._shadow.advance_parked(now_ms)
        self.advance(now_ms)


def our_frame(exchange: Exchange, request: Any) -> bytes:
    """Return the frame of a request with our ids, without its size."""
    header = exchange.header
    assert exchange.api_key is not None
    return encode_request(
        header.correlation_id, header.client_id or "", exchange.api_key, header.api_version, request
    )
