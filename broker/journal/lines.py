"""The lines of the journal: requests, new connections that were refused, and ends of connections.

A Fetch that a cache has handled becomes an entry when somebody looks at it.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TypeAlias

from broker.request.context import RequestContext, Sender
from broker.request.session import Peer
from broker.responses import EncodedParts
from protocol.framing import SIZE_BYTES
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
    """One request; `frame` is None if it exceeds the byte limit of the journal."""

    __slots__ = (
        "_context",
        "_response",
        "byte_count",
        "close_reason",
        "connection_id",
        "duration_us",
        "errors",
        "frame",
        "number",
        "outcome",
        "started_ns",
        "targets",
    )
    count = 1

    def __init__(
        self,
        number: int,
        connection_id: int,
        context: "RequestContext | tuple[Sender, int]",
        frame: bytes | None,
        started_ns: int,
    ) -> None:
        """In place of a context, sender and time of a request whose frame is kept are enough."""
        self.number = number
        self.connection_id = connection_id
        self._context = context
        self.frame = frame
        self.byte_count = 0 if frame is None else len(frame)
        """Bytes of the frames that it holds."""
        self.started_ns = started_ns
        self._response: bytes | EncodedParts | None = None
        self.outcome = Outcome.WAITING
        self.close_reason: str | None = None
        self.duration_us: int | None = None
        self.targets: RequestTargets | None = None
        """None until `targets_of` has decoded the request."""
        self.errors: frozenset[str] | None = None
        """None until `errors_of` has decoded the response."""

    @property
    def context(self) -> RequestContext:
        """The context of the request, always the same one."""
        context = self._context
        if isinstance(context, tuple):
            assert self.frame is not None
            sender, now_ms = context
            context = self._context = sender.context_of(self.frame, now_ms)
        return context

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
    count = 1

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
    count = 1

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


class EntryRun:
    """Requests that stand behind each other in a read, all of them handled and none unusual.

    They become entries when somebody looks at them, so to record them takes little time.
    """

    __slots__ = ("_entries", "_handled", "byte_count", "count", "number")

    def __init__(self, number: int, count: int, byte_count: int, handled: "Handled") -> None:
        self.number = number
        """That of the first entry."""
        self.count = count
        self.byte_count = byte_count
        self._handled: Handled | None = handled
        self._entries: list[Entry] | None = None

    def entries(self) -> list[Entry]:
        """Return the entries, always the same ones."""
        if self._entries is None:
            assert self._handled is not None
            self._entries = self._entries_of(*self._handled)
            self._handled = None
        return self._entries

    def _entries_of(
        self,
        sender: Sender,
        data: bytes,
        responses: "Sequence[bytes | EncodedParts]",
        now_ms: int,
        started_ns: int,
        ended_ns: int,
    ) -> list[Entry]:
        duration_us = (ended_ns - started_ns) // self.count // 1000
        entries = []
        for index, frame in enumerate(frames_of(data)):
            entry = Entry(
                self.number + index, sender.connection_id, (sender, now_ms), frame, started_ns
            )
            entry.duration_us = duration_us
            entry.outcome = Outcome.NO_RESPONSE
            if responses:
                entry.outcome = Outcome.RESPONDED
                response = responses[index]
                entry.keep(response, size_of(response))
            entries.append(entry)
        return entries


Handled: TypeAlias = tuple[Sender, bytes, "Sequence[bytes | EncodedParts]", int, int, int]
"""Who sent requests, their frames, their responses, when they came, and when both clocks read what.

A plain tuple, for the hot path.
"""


def size_of(response: bytes | EncodedParts) -> int:
    """Return the bytes of the frame of a response."""
    return response.size_bytes if isinstance(response, EncodedParts) else len(response)


def frames_of(data: bytes) -> Iterator[bytes]:
    """Yield the frames of complete requests, without their sizes."""
    position = 0
    while position < len(data):
        start = position + SIZE_BYTES
        position = start + int.from_bytes(data[position:start], "big")
        yield data[start:position]


Line = Entry | Disconnect | Arrival
