"""The journal: the last requests and what became of them, for people and tests to look at.

While requests are served it keeps no more than references and one copy of each frame; everything is
decoded when somebody looks, and not before. It has a bound in entries and one in bytes.
"""

from collections import deque
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from broker.request.context import RequestContext
from broker.request.session import Peer
from broker.responses import Close, CompletedResponse, Throttled
from protocol import json_view as readable
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_response


class Outcome(StrEnum):
    """What became of a request, so far, or of a new connection."""

    WAITING = "waiting"
    """Not answered yet, or never."""
    RESPONDED = "responded"
    NO_RESPONSE = "no_response"
    """Done, and no response belongs to it: Produce with acks=0."""
    CLOSED = "closed"
    """Its connection ended in place of, or right behind, the response."""
    REFUSED = "refused"
    """Of a new connection: closed at once."""
    DELAYED = "delayed"
    """Of a new connection: read later."""


class Entry:
    """One request; `frame` is None when it alone is larger than the journal may be."""

    __slots__ = (
        "close_reason",
        "context",
        "duration_us",
        "errors",
        "frame",
        "number",
        "outcome",
        "response",
        "started_ns",
        "subjects",
    )

    def __init__(
        self, number: int, context: RequestContext, frame: bytes | None, started_ns: int
    ) -> None:
        self.number = number
        self.context = context
        self.frame = frame
        self.started_ns = started_ns
        self.response: bytes | None = None
        self.outcome = Outcome.WAITING
        self.close_reason: str | None = None
        self.duration_us: int | None = None
        self.subjects: Subjects | None = None
        self.errors: frozenset[str] | None = None
        """None until somebody has asked for them."""

    @property
    def byte_count(self) -> int:
        """What it holds of frames."""
        return len(self.frame or b"") + len(self.response or b"")


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
    """A new connection that fault rules refused or held up; all others go without a line."""

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


class Subjects:
    """What a request is about, found by decoding and kept because it is small."""

    __slots__ = ("groups", "topics")

    def __init__(self, request: Any) -> None:
        is_message = not isinstance(request, str | None)
        self.topics = frozenset(readable.topics_of(request) if is_message else ())
        self.groups = frozenset(readable.groups_of(request) if is_message else ())


Line = Entry | Disconnect | Arrival
Listener = Callable[[Line], None]


class Journal:
    """The last requests of a cluster, oldest first.

    `is_enabled`: nothing is kept before, and nothing need be asked.
    """

    def __init__(self, entries_max: int, bytes_max: int, *, is_enabled: bool = False) -> None:
        self.is_enabled = is_enabled
        self._entries_max = entries_max
        self._bytes_max = bytes_max
        self._lines: deque[Line] = deque()
        self._byte_count = 0
        self._next_number = 1
        self._waiting: dict[int, Entry] = {}
        """The request that a connection waits for, by connection; there is never a second one."""
        self._listeners: list[Listener] = []

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines)

    def __reversed__(self) -> Iterator[Line]:
        return reversed(self._lines)

    @property
    def byte_count(self) -> int:
        """Bytes of frames that are kept."""
        return self._byte_count

    @property
    def last_number(self) -> int:
        """The number of the newest line; 0 before there was any. Never begins anew."""
        return self._next_number - 1

    def begin(
        self,
        context: RequestContext,
        buffer: bytes | bytearray,
        start: int,
        end: int,
        started_ns: int,
    ) -> Entry:
        """Take in a request: `buffer[start:end]` is its frame without the size."""
        frame = bytes(buffer[start:end]) if end - start <= self._bytes_max else None
        entry = Entry(self._next_number, context, frame, started_ns)
        self._next_number += 1
        self._lines.append(entry)
        self._byte_count += 0 if frame is None else end - start
        return entry

    def wait(self, entry: Entry) -> None:
        """Its response comes later, or never."""
        self._waiting[entry.context.connection_id] = entry
        self._changed(entry)

    def end(self, entry: Entry, response: CompletedResponse, now_ns: int) -> None:
        """Its response has come, in whichever form."""
        self._waiting.pop(entry.context.connection_id, None)
        entry.duration_us = (now_ns - entry.started_ns) // 1000
        frame: Any = response
        entry.outcome = Outcome.RESPONDED
        if isinstance(response, Close):
            entry.outcome = Outcome.CLOSED
            entry.close_reason = response.reason
            frame = response.response
        if isinstance(frame, Throttled):
            frame = frame.frame
        if frame is None and entry.close_reason is None:
            entry.outcome = Outcome.NO_RESPONSE
        is_kept = bool(self._lines) and entry.number >= self._lines[0].number
        if frame is not None and is_kept and entry.byte_count + len(frame) <= self._bytes_max:
            entry.response = frame
            self._byte_count += len(frame)
        self._changed(entry)

    def disconnected(self, connection: Peer, reason: str, now_ms: int) -> None:
        """A connection has ended; a request that still waits will have no response."""
        if not self.is_enabled:
            return
        entry = self._waiting.pop(connection.connection_id, None)
        if entry is not None:
            entry.outcome = Outcome.CLOSED
            entry.close_reason = reason
            self._changed(entry)
        line = Disconnect(self._next_number, connection, reason, now_ms)
        self._next_number += 1
        self._lines.append(line)
        self._changed(line)

    def arrived(
        self,
        broker_id: int,
        peer: str,
        *,
        is_refused: bool,
        delay_ms: int,
        fault: str,
        time_ms: int,
    ) -> None:
        """Fault rules have refused or held up a new connection."""
        if not self.is_enabled:
            return
        line = Arrival(
            self._next_number,
            broker_id,
            peer,
            is_refused=is_refused,
            delay_ms=delay_ms,
            fault=fault,
            time_ms=time_ms,
        )
        self._next_number += 1
        self._lines.append(line)
        self._changed(line)

    def clear(self) -> None:
        """Forget all lines; numbers go on, and so do those who listen."""
        self._lines.clear()
        self._waiting.clear()
        self._byte_count = 0

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have a function called with every line that is new or has changed; returns the end."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _changed(self, line: Line) -> None:
        lines = self._lines
        while len(lines) > self._entries_max or self._byte_count > self._bytes_max:
            self._byte_count -= lines.popleft().byte_count
        if self._listeners:
            for listener in tuple(self._listeners):
                listener(line)


def subjects_of(entry: Entry) -> Subjects:
    """Topics and groups of a request; what can't be decoded has none."""
    if entry.subjects is None:
        entry.subjects = Subjects(request_of(entry))
    return entry.subjects


def errors_of(entry: Entry) -> frozenset[str]:
    """Names of the errors in the response; none while there is no response."""
    if entry.errors is None:
        response = response_of(entry)
        is_message = not isinstance(response, str | None)
        errors = frozenset(readable.errors_of(response) if is_message else ())
        if entry.outcome is Outcome.WAITING:
            return errors
        entry.errors = errors
    return entry.errors


def request_of(entry: Entry) -> Any:
    """The decoded request; a text that says why it can't be read; None where it wasn't kept."""
    if entry.frame is None:
        return None
    try:
        return readable.decode_request_frame(entry.frame)
    except (DecodeError, ValueError, KeyError) as error:
        return f"undecodable: {error}"


def response_of(entry: Entry) -> Any:
    """The decoded answer, as `request_of`."""
    if entry.response is None:
        return None
    context = entry.context
    try:
        return decode_response(entry.response, ApiKey(context.api_key), context.api_version)
    except (DecodeError, ValueError, KeyError) as error:
        return f"undecodable: {error}"
