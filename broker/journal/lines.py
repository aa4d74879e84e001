"""The lines of the journal: requests, refused new connections, and ends of connections."""

from dataclasses import replace
from enum import StrEnum

from broker.request.context import RequestContext
from broker.request.session import Peer
from broker.responses import EncodedParts
from protocol.codec import header_fields
from protocol.request_targets import RequestTargets


class Outcome(StrEnum):
    """The outcome so far of a request or of a new connection."""

    WAITING = "waiting"
    """No response yet, or never."""
    HELD = "held"
    """A fault rule holds it until it is released."""
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

    `Journal.begin` sets the attributes: a constructor takes twice the time.
    """

    __slots__ = (
        "byte_count",
        "close_reason",
        "ended_ns",
        "errors",
        "frame",
        "kept_context",
        "kept_response",
        "number",
        "outcome",
        "received_ms",
        "shares_context",
        "started_ns",
        "targets",
    )

    number: int
    received_ms: int
    frame: bytes | None
    byte_count: int
    """Of the frames that it holds, and what its denials count."""
    started_ns: int
    ended_ns: int | None
    """When it had its response; None before."""
    outcome: Outcome
    close_reason: str | None
    targets: RequestTargets | None
    """None until `targets_of` has decoded the request."""
    errors: frozenset[str] | None
    """None until `errors_of` has decoded the response."""
    shares_context: bool
    """Whether its context is one of many requests, which differ in what its frame says."""
    kept_context: RequestContext
    kept_response: bytes | EncodedParts | None
    """The frame of the response; None without one, and if it exceeds the byte limit."""

    @property
    def context(self) -> RequestContext:
        """The context of the request; a shared one is copied when somebody looks."""
        if self.shares_context:
            assert self.frame is not None
            _key, _version, correlation_id, *_ = header_fields(self.frame, 0, len(self.frame))
            self.context = replace(
                self.kept_context,
                correlation_id=correlation_id,
                now_ms=self.received_ms,
                size_bytes=len(self.frame),
            )
        return self.kept_context

    @context.setter
    def context(self, context: RequestContext) -> None:
        self.kept_context, self.shares_context = context, False

    @property
    def connection_id(self) -> int:
        """The connection of the request, among all of the cluster's."""
        return self.kept_context.connection_id

    @property
    def duration_us(self) -> int | None:
        """How long it took until there was a response; None before."""
        return None if self.ended_ns is None else (self.ended_ns - self.started_ns) // 1000

    @property
    def response(self) -> bytes | None:
        """`kept_response` as bytes: parts are joined when somebody looks."""
        if isinstance(self.kept_response, EncodedParts):
            self.kept_response = self.kept_response.joined()
        return self.kept_response


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
