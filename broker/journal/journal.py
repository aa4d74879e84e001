"""The journal: the last requests and their responses, for people and tests.

It keeps one copy of each frame, and decodes a frame only when it is read. The journal is bounded in
entries and in bytes. A Fetch that a cache has handled becomes an entry when somebody looks at it
(`EntryRun`, `Journal.begin_wait`).
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from broker.journal.lines import (
    Arrival,
    Disconnect,
    Entry,
    EntryRun,
    Line,
    Outcome,
    frames_of,
    size_of,
)
from broker.request.context import RequestContext, Sender
from broker.request.session import Peer
from broker.responses import Close, CompletedResponse, EncodedParts, Throttled
from protocol import json_view
from protocol.api_keys import ApiKey
from protocol.codec import decode_response
from protocol.framing import SIZE_BYTES
from protocol.request_targets import RequestTargets, request_targets

Listener = Callable[[Line], None]


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
        self._kept_max = self._unheard_max = entries_max + DROPPED_TOGETHER
        self._bytes_max = bytes_max
        self.run_bytes_max = bytes_max // 2
        """`add_run`, `add_one` and `begin_wait` take requests up to this size, with their sizes.

        One that exceeds the byte limit is an entry without its frame.
        """
        self._lines: deque[Line | EntryRun] = deque()
        self._line_count = 0
        """Lines, where each request of a run counts.

        With more than `_unheard_max`, which is -1 while there are listeners, `_added` has to look.
        """
        self._byte_count = 0
        self._next_number = 1
        self._waiting: dict[int, Entry] = {}
        """The one request without a response, by connection id."""
        self._listeners: list[Listener] = []

    def __len__(self) -> int:
        self._split_oldest()
        return self._line_count

    def __iter__(self) -> Iterator[Line]:
        self._split_oldest()
        for line in self._lines:
            if isinstance(line, EntryRun):
                yield from line.entries()
            else:
                yield line

    def __reversed__(self) -> Iterator[Line]:
        self._split_oldest()
        for line in reversed(self._lines):
            if isinstance(line, EntryRun):
                yield from reversed(line.entries())
            else:
                yield line

    @property
    def byte_count(self) -> int:
        """Bytes of all frames in the journal."""
        self._split_oldest()
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
        frame = bytes(buffer[start:end]) if end - start <= self._bytes_max else None
        entry = Entry(self._next_number, context.connection_id, context, frame, started_ns)
        self._add(entry)
        self._byte_count += 0 if frame is None else end - start
        return entry

    # Hot path: inlined on purpose, as `add_one` and `end`.
    def begin_wait(self, sender: Sender, data: bytes, now_ms: int, started_ns: int) -> Entry:
        """Add a request whose response comes later, or never, as `begin` and `wait`.

        It is all of `data`, with its size.
        """
        number, connection_id = self._next_number, sender.connection_id
        entry = Entry(number, connection_id, (sender, now_ms), data[SIZE_BYTES:], started_ns)
        self._next_number = number + 1
        self._line_count += 1
        self._byte_count += entry.byte_count
        self._lines.append(entry)
        self._waiting[connection_id] = entry
        if self._line_count > self._unheard_max or self._byte_count > self._bytes_max:
            self._added()
        return entry

    def add_one(
        self,
        sender: Sender,
        data: bytes,
        response: bytes | EncodedParts,
        now_ms: int,
        started_ns: int,
        ended_ns: int,
    ) -> None:
        """Add a request that was handled, with its response, which is empty if there is none.

        `data` has the size of the request in front. The times in nanoseconds are when it began and
        ended to be handled.
        """
        response_bytes = len(response) if type(response) is bytes else size_of(response)
        byte_count = len(data) - SIZE_BYTES + response_bytes
        if byte_count > self._bytes_max:
            context = sender, now_ms
            entry = Entry(
                self._next_number, sender.connection_id, context, data[SIZE_BYTES:], started_ns
            )
            self._add(entry)
            self._byte_count += entry.byte_count
            self.end(entry, response, ended_ns)
            return
        responses = (response,) if response else ()
        handled = sender, data, responses, now_ms, started_ns, ended_ns
        number = self._next_number
        self._lines.append(EntryRun(number, 1, byte_count, handled))
        self._next_number = number + 1
        self._line_count += 1
        self._byte_count += byte_count
        if self._line_count > self._unheard_max or self._byte_count > self._bytes_max:
            self._added()

    def add_run(
        self,
        sender: Sender,
        data: bytes,
        responses: Sequence[bytes],
        now_ms: int,
        started_ns: int,
        ended_ns: int,
    ) -> None:
        """Add complete requests that were handled together, as `add_one`.

        There is one response for each of them, none of which is longer than its request, or none.
        """
        count = len(responses) or sum(1 for _ in frames_of(data))
        byte_count = sum(map(len, responses), len(data) - count * SIZE_BYTES)
        handled = sender, data, responses, now_ms, started_ns, ended_ns
        self._lines.append(EntryRun(self._next_number, count, byte_count, handled))
        self._next_number += count
        self._line_count += count
        self._byte_count += byte_count
        if self._line_count > self._unheard_max or self._byte_count > self._bytes_max:
            self._added()

    def wait(self, entry: Entry) -> None:
        """Record that the response of a request comes later, or never."""
        self._waiting[entry.connection_id] = entry
        self._changed(entry)

    def end(self, entry: Entry, response: CompletedResponse, now_ns: int) -> None:
        """Record the response of a request."""
        self._waiting.pop(entry.connection_id, None)
        entry.duration_us = (now_ns - entry.started_ns) // 1000
        frame: Any = response
        entry.outcome = Outcome.RESPONDED
        if type(response) is not bytes:
            if isinstance(response, Close):
                entry.outcome = Outcome.CLOSED
                entry.close_reason = response.reason
                frame = response.response
            if isinstance(frame, Throttled):
                frame = frame.frame
            if frame is None and entry.close_reason is None:
                entry.outcome = Outcome.NO_RESPONSE
        if frame is not None and self._lines and entry.number >= self._lines[0].number:
            frame_bytes = len(frame) if type(frame) is bytes else size_of(frame)
            if entry.byte_count + frame_bytes <= self._bytes_max:
                entry.keep(frame, frame_bytes)
                self._byte_count += frame_bytes
                if self._byte_count > self._bytes_max:
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

    def clear(self) -> deque[Line | EntryRun]:
        """Remove all lines, and return them; numbers go on, and listeners stay."""
        removed, self._lines = self._lines, deque()
        self._waiting.clear()
        self._line_count = self._byte_count = 0
        return removed

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each new or changed line; return a function that unsubscribes it."""
        self._listeners.append(listener)
        self._unheard_max = -1

        def unsubscribe() -> None:
            self._listeners.remove(listener)
            if not self._listeners:
                self._unheard_max = self._kept_max

        return unsubscribe

    def _add(self, line: Line) -> None:
        self._next_number += 1
        self._line_count += 1
        self._lines.append(line)
        if self._line_count > self._kept_max:
            self._drop_oldest()

    def _added(self) -> None:
        """Tell listeners the newest line or run, and drop what exceeds the limits."""
        newest = self._lines[-1]
        self._drop_oldest()
        if self._listeners:
            for line in newest.entries() if isinstance(newest, EntryRun) else (newest,):
                self._changed(line)

    def _drop_oldest(self) -> None:
        """Drop what exceeds the limits, except for a part of a run."""
        lines, entries_max, bytes_max = self._lines, self._entries_max, self._bytes_max
        while self._line_count > entries_max or self._byte_count > bytes_max:
            oldest = lines[0]
            count = oldest.count
            if count > 1:
                is_outside = (
                    self._line_count - count >= entries_max
                    or self._byte_count - oldest.byte_count >= bytes_max
                )
                if not is_outside:
                    return
            self._line_count -= count
            self._byte_count -= oldest.byte_count
            lines.popleft()

    def _split_oldest(self) -> None:
        """Drop also the part of a run that exceeds the limits."""
        self._drop_oldest()
        while self._line_count > self._entries_max or self._byte_count > self._bytes_max:
            run = self._lines.popleft()
            assert isinstance(run, EntryRun)
            self._lines.extendleft(reversed(run.entries()))
            self._drop_oldest()

    def _changed(self, line: Line) -> None:
        if self._line_count > self._kept_max or self._byte_count > self._bytes_max:
            self._drop_oldest()
        if self._listeners:
            for listener in tuple(self._listeners):
                listener(line)


def targets_of(entry: Entry) -> RequestTargets:
    """Return the targets that a request names; none if it cannot be explained."""
    if entry.targets is None:
        request_of(entry)
    return entry.targets or RequestTargets()


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
