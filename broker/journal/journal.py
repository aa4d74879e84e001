"""The journal: the last requests and their responses, for people and tests.

It keeps one copy of each frame, and decodes a frame only when it is read. The journal is bounded in
entries and in bytes.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from broker.journal.lines import Arrival, Disconnect, Entry, Line, Outcome, size_of
from broker.request.context import RequestContext
from broker.request.session import Peer
from broker.responses import Beginning, Close, CompletedResponse, Throttled
from protocol import json_view
from protocol.api_keys import ApiKey
from protocol.codec import decode_response
from protocol.pacing import may_pause
from protocol.request_targets import RequestTargets, request_targets

Listener = Callable[[Line], None]

_WAITING, _RESPONDED = Outcome.WAITING, Outcome.RESPONDED

WITH_SECRETS = frozenset(
    {
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    }
)
"""APIs whose frames may have passwords, tokens or secret configurations."""

SHOWN_BYTES_MAX = 500
"""Bytes of a frame in the text that stands for a message."""

DENIAL_BYTES = 512
"""As how many bytes of a frame a denial counts, which is more than the request has for it."""

DROPPED_TOGETHER = 64
"""Lines beyond the limit that are kept until somebody looks, or until there are more.

To drop them together takes less time.
"""


class Journal:
    """The last requests of a cluster, oldest first.

    While `is_enabled` is False, nothing is recorded.
    """

    def __init__(self, entries_max: int, bytes_max: int, *, is_enabled: bool = False) -> None:
        self.is_enabled = is_enabled
        self._entries_max = entries_max
        self._kept_max = entries_max + DROPPED_TOGETHER
        self.bytes_max = bytes_max
        self._lines: deque[Line] = deque()
        self._byte_count = 0
        self._next_number = self._oldest_number = 1
        self._waiting: dict[int, Entry] = {}
        """The one request without a response, by connection id."""
        self._listeners: list[Listener] = []

    def __len__(self) -> int:
        self._drop_oldest()
        return len(self._lines)

    def __iter__(self) -> Iterator[Line]:
        self._drop_oldest()
        return iter(self._lines)

    def __reversed__(self) -> Iterator[Line]:
        self._drop_oldest()
        return reversed(self._lines)

    @property
    def byte_count(self) -> int:
        """Bytes of all frames in the journal, and what the denials of requests count."""
        self._drop_oldest()
        return self._byte_count

    @property
    def last_number(self) -> int:
        """The number of the newest line; 0 if there was none yet. It never decreases."""
        return self._next_number - 1

    def begin(
        self,
        context: RequestContext,
        buffer: bytes | bytearray,
        start: int,
        end: int,
        started_ns: int,
    ) -> Entry:
        """Add a request; `buffer[start:end]` is its frame without the size."""
        entry = Entry()
        entry.frame, byte_count = None, end - start
        entry.kept_context, entry.shares_context = context, context.is_shared
        if byte_count <= self.bytes_max:
            frame = buffer[start:end]
            entry.frame = frame if type(frame) is bytes else bytes(frame)
        else:
            byte_count = 0
            if context.is_shared:
                entry.context = replace(context)
        entry.received_ms, entry.started_ns, entry.ended_ns = context.now_ms, started_ns, None
        entry.outcome = _WAITING
        entry.kept_response = entry.close_reason = entry.targets = entry.errors = None
        self._byte_count += byte_count
        entry.byte_count = byte_count
        number = entry.number = self._next_number
        self._next_number = number + 1
        lines = self._lines
        lines.append(entry)
        if len(lines) > self._kept_max:
            self._drop_oldest()
        return entry

    def wait(self, entry: Entry) -> None:
        """Record that the response of a request comes later, or never."""
        self._waiting[entry.connection_id] = entry
        if entry.kept_context.is_held:
            entry.outcome = Outcome.HELD
        self._changed(entry)

    def note_held(self, context: RequestContext) -> None:
        """Record that a fault rule holds a request that waits, or that it does so no more."""
        entry = self._waiting.get(context.connection_id)
        if entry is not None:
            entry.outcome = Outcome.HELD if context.is_held else Outcome.WAITING
            self._changed(entry)

    def end(self, entry: Entry, response: CompletedResponse, now_ns: int) -> None:
        """Record the response of a request."""
        if self._waiting:
            self._waiting.pop(entry.connection_id, None)
        entry.ended_ns = now_ns
        entry.outcome = _RESPONDED
        frame: Any = response
        if type(response) is bytes:
            frame_bytes = len(response)
        else:
            if isinstance(response, Close):
                entry.outcome = Outcome.CLOSED
                entry.close_reason = response.reason
                frame = response.response
            if isinstance(frame, Throttled | Beginning):
                frame = frame.frame
            if frame is None and entry.close_reason is None:
                entry.outcome = Outcome.NO_RESPONSE
            frame_bytes = 0 if frame is None else size_of(frame)
        denials = entry.kept_context.denials
        if denials and entry.number >= self._oldest_number:
            denial_bytes = min(len(denials) * DENIAL_BYTES, self.bytes_max - entry.byte_count)
            entry.byte_count += denial_bytes
            self._byte_count += denial_bytes
        if frame is not None and entry.number >= self._oldest_number:
            byte_count = entry.byte_count + frame_bytes
            if byte_count <= self.bytes_max:
                entry.kept_response, entry.byte_count = frame, byte_count
                self._byte_count += frame_bytes
        if self._byte_count > self.bytes_max:
            self._drop_oldest()
        if self._listeners:
            self._changed(entry)

    def disconnected(self, connection: Peer, reason: str, now_ms: int) -> None:
        """Record the end of a connection; a request that waits there gets no response."""
        if not self.is_enabled:
            return
        entry = self._waiting.pop(connection.connection_id, None)
        if entry is not None:
            entry.outcome = Outcome.CLOSED
            entry.close_reason = reason
            self._changed(entry)
        line = Disconnect(self._next_number, connection, reason, now_ms)
        self._add(line)
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
        """Record a new connection that fault rules refused or delayed."""
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
        self._add(line)
        self._changed(line)

    def clear(self) -> deque[Line]:
        """Remove all lines, and return them; numbers go on, and listeners stay."""
        removed, self._lines = self._lines, deque()
        self._waiting.clear()
        self._byte_count = 0
        self._oldest_number = self._next_number
        return removed

    @may_pause
    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each new or changed line; return a function that unsubscribes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _add(self, line: Line) -> None:
        self._next_number += 1
        self._lines.append(line)
        if len(self._lines) > self._kept_max:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Drop what exceeds the limits."""
        lines = self._lines
        while len(lines) > self._entries_max or self._byte_count > self.bytes_max:
            oldest = lines.popleft()
            self._byte_count -= oldest.byte_count
            self._oldest_number = oldest.number + 1

    def _changed(self, line: Line) -> None:
        if len(self._lines) > self._kept_max or self._byte_count > self.bytes_max:
            self._drop_oldest()
        if self._listeners:
            for listener in tuple(self._listeners):
                listener(line)


def targets_of(entry: Entry) -> RequestTargets:
    """Return the targets that a request names; none if it cannot be explained."""
    if entry.targets is None:
        request_of(entry)
    return entry.targets or RequestTargets()


@may_pause
def errors_of(entry: Entry) -> frozenset[str]:
    """Return the names of the errors in the response; none while there is no response."""
    if entry.errors is None:
        response_of(entry)
    return entry.errors or frozenset()


def request_of(entry: Entry) -> Any:
    """Return the decoded request; None if it was not kept.

    A text with the error and the bytes stands for one that cannot be explained.
    """
    if entry.frame is None:
        return None
    try:
        request = json_view.decode_request_frame(entry.frame)
        if entry.targets is None:
            entry.targets = request_targets(request)
    except Exception as error:  # noqa: BLE001 - one entry must not hide all others
        return unexplained(entry, entry.frame, error)
    return request


@may_pause
def response_of(entry: Entry) -> Any:
    """Return the decoded response, as `request_of` does."""
    frame, context = entry.response, entry.context
    if frame is None:
        return None
    try:
        response = decode_response(frame, ApiKey(context.api_key), context.api_version)
        if entry.errors is None:
            entry.errors = frozenset(json_view.errors_of(response))
    except Exception as error:  # noqa: BLE001 - one entry must not hide all others
        return unexplained(entry, frame, error)
    return response


def unexplained(entry: Entry, frame: bytes, error: Exception) -> str:
    """Return what stands for a message that cannot be decoded or shown."""
    text = f"undecodable: {error}"
    if entry.context.api_key in WITH_SECRETS:
        return text
    shown = frame[:SHOWN_BYTES_MAX]
    left_out = f"... of {len(frame)} bytes" if len(frame) > len(shown) else ""
    return f"{text} ({shown.hex()}{left_out})"
