"""A client's connection to our broker, beside the one to the real cluster.

A request is played when the real cluster has answered it, so that our broker sees the requests of
all connections in the order in which the cluster handled them. JoinGroup and SyncGroup, which
wait for other members, are played a moment after they were sent. A Produce request waits until our
log is as long as the real one was before it. Nothing here delays the client.
"""

from collections import deque

from broker.request.session import Session
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError
from proxy.diff.lost_batches import ORDER_WAIT_MS_MAX
from proxy.diff.played_request import PlayedRequest
from proxy.diff.shadow import Shadow
from proxy.diff.shadow_broker import Answer

BARRIER_DELAY_MS = 50
"""An answer that takes longer than this is one that waits for other members."""

_BARRIERS = frozenset({ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})
_AUTHENTICATION = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})


class ShadowConnection:
    """The state machine of one connection; it calls nothing that waits, and raises nothing."""

    def __init__(self, shadow: Shadow, node_id: int, client_host: str) -> None:
        """Start the shadow of a new connection to a broker of the real cluster."""
        brokers = shadow.broker.cluster.brokers
        self.broker_id = node_id if node_id in brokers else next(iter(brokers))
        self.client_host = client_host
        self.connection_id = next(shadow.connection_ids)
        self.session = Session()
        self.fetch_offsets: dict[tuple[str, int], int] = {}
        self._shadow = shadow
        self._waiting: deque[PlayedRequest] = deque()
        """Requests that were not played yet, in their order."""
        self._unanswered: deque[PlayedRequest] = deque()
        """Requests that the real cluster has not answered yet, in their order."""
        self._is_playing = False
        self._is_advancing = False

    def see_request(self, frame: bytes, now_ms: int) -> None:
        """Take a request that is sent to the real cluster, without its size."""
        try:
            compared = PlayedRequest(frame, now_ms)
        except DecodeError:
            return
        if compared.header.api_key in _AUTHENTICATION:
            return
        if compared.has_response:
            self._unanswered.append(compared)
        self._waiting.append(compared)
        if compared.api_key in _BARRIERS:
            self._shadow.later(
                now_ms + BARRIER_DELAY_MS, lambda late: self._end_wait(compared, late)
            )
        self.advance(now_ms)

    def see_response(self, frame: bytes, now_ms: int) -> None:
        """Take the response of the real cluster to the oldest request without one."""
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        if not self._unanswered or self._unanswered[0].correlation_id != correlation_id:
            return  # that of an authentication
        compared = self._unanswered.popleft()
        compared.real, compared.answered_ms = frame, now_ms
        if compared.ours is not None:
            self._shadow.compare(self, compared, now_ms)
        self.advance(now_ms)

    def see_principal(self, principal: str) -> None:
        """Take the user whom the real cluster has authenticated, such as `alice`."""
        self.session.authenticate(principal, None)

    def close(self, now_ms: int) -> None:
        """Note that the connection has ended; what has no response is not compared."""
        for compared in self._unanswered:
            self._shadow.lose(self, compared, now_ms)
        self._unanswered.clear()
        self._waiting = deque(compared for compared in self._waiting if compared.real is not None)
        self.advance(now_ms)

    def advance(self, now_ms: int) -> None:
        """Play the requests whose turn has come."""
        if self._is_advancing:
            return
        self._is_advancing = True
        try:
            while self._waiting and not self._is_playing:
                compared = self._waiting[0]
                if not self._may_play(compared, now_ms):
                    return
                self._waiting.popleft()
                self._play(compared, now_ms)
        finally:
            self._is_advancing = False

    def _may_play(self, compared: PlayedRequest, now_ms: int) -> bool:
        if compared.api_key in _BARRIERS and compared.is_overdue:
            return True
        if compared.real is None:
            return not compared.has_response
        if compared.api_key is not ApiKey.PRODUCE or compared.is_overdue:
            return True
        if self._shadow.is_next(compared):
            return True
        self._shadow.park(self)
        if not compared.is_parked:
            compared.is_parked = True
            due_ms = compared.answered_ms + ORDER_WAIT_MS_MAX
            self._shadow.later(due_ms, lambda late: self._end_wait(compared, late))
        return False

    def _end_wait(self, compared: PlayedRequest, now_ms: int) -> None:
        compared.is_overdue = True
        self._shadow.end_wait(compared)
        self.advance(now_ms)

    def _play(self, compared: PlayedRequest, now_ms: int) -> None:
        frame = self._shadow.prepared(compared)
        if frame is None:
            return
        self._is_playing = True
        self._shadow.broker.play(
            frame, self, now_ms, lambda answer: self._take(compared, answer, now_ms)
        )

    def _take(self, compared: PlayedRequest, answer: Answer, now_ms: int) -> None:
        self._is_playing = False
        compared.ours = answer
        if isinstance(answer, dict):
            principal = self.session.principal
            self.session = Session(principal=principal)
        if compared.real is not None or not compared.has_response:
            self._shadow.compare(self, compared, now_ms)
        self._shadow.advance_parked(now_ms)
        self.advance(now_ms)
