"""The lines of the journal: requests, refused new connections, and ends of connections."""

from enum import StrEnum

from broker.request.context import RequestContext
from broker.request.session import Peer
from broker.responses import EncodedParts
from protocol.request_targets import RequestTargets


class Outcome(StrEnum):
    """The outcome so far of a request or of a new connection."""

    WAITING = "waiting"
    """No response yet, or never."""
    RESPONDED = "responded"
    NO_RESPONSE = "no_response"
    """Handled, and it has no response: Produce with acks=0."""
    CLOSED = "closed"
    """Its connection was closed instead of a response, or right after it."""
    REFUSED = "refused"
    """A new connection that was closed at once."""
    DELAYED = "delayed"
    """A new connection whose requests are read after a delay."""


class Entry:
    """One request; `frame` is None if it exceeds the byte limit of the journal.

    It has no slots: what few requests have is then an attribute of the class.
    """

    _response: bytes | EncodedParts | None = None
    outcome = Outcome.WAITING
    close_reason: str | None = None
    duration_us: int | None = None
    targets: RequestTargets | None = None
    """None until `targets_of` has decoded the request."""
    errors: frozenset[str] | None = None
    """None until `errors_of` has decoded the response."""

    def __init__(
        self,
        number: int,
        context: RequestContext,
        frame: bytes | None,
        byte_count: int,
        started_ns: int,
    ) -> None:
        """`byte_count` is that of the frames that it holds."""
        self.number = number
        self.context = context
        self.frame = frame
        self.byte_count = byte_count
        self.started_ns = started_ns

    @property
    def connection_id(self) -> int:
        """The connection of the request, among all of the cluster's."""
        return self.context.connection_id

    @property
    def response(self) -> bytes | None:
        """The frame of the response; None without one, and if it exceeds the byte limit."""
        if isinstance(self._response, EncodedParts):
            self._response = self._response.joined()
        return self._response

    def keep(self, response: "bytes | EncodedParts", byte_count: int) -> None:
        """Keep the frame of the response; the bytes of parts are joined when somebody looks."""
        self._response = response
        self.byte_count += byte_count


class Disconnect:
    """The end of a connection."""

    __slots__ = (
        "broker_id",
        "client_host",
        "connection_id",
        "number",
        "principal",
        "reason",
        "time_ms",
    )
    byte_count = 0

    def __init__(
        self,
        number: int,
        connection: Peer,
        reason: str,
        time_ms: int,
    ) -> None:
        self.number = number
        self.broker_id = connection.broker_id
        self.connection_id = connection.connection_id
        self.client_host = connection.client_host
        self.principal = connection.session.principal
        self.reason = reason
        self.time_ms = time_ms


class Arrival:
    """A new connection that fault rules refused or delayed; no other connection has a line."""

    __slots__ = ("broker_id", "delay_ms", "fault", "number", "outcome", "peer", "time_ms")
    byte_count = 0

    def __init__(
        self,
        number: int,
        broker_id: int,
        peer: str,
        *,
        is_refused: bool,
        delay_ms: int,
        fault: str,
        time_ms: int,
    ) -> None:
        """`peer` is the client's `HOST:PORT`."""
        self.number = number
        self.broker_id = broker_id
        self.peer = peer
        self.outcome = Outcome.REFUSED if is_refused else Outcome.DELAYED
        self.delay_ms = delay_ms
        self.fault = fault
        self.time_ms = time_ms


def size_of(response: bytes | EncodedParts) -> int:
    """Return the bytes of the frame of a response."""
    return response.size_bytes if isinstance(response, EncodedParts) else len(response)


Line = Entry | Disconnect | Arrival
