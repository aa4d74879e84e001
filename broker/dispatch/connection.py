"""One client's connection without I/O: bytes and a time in, output out.

A connection handles one request at a time and responds in the order of the requests. While a
response is pending, further frames wait in the buffer. The same holds while a quota mutes the
connection after a throttled response (KIP-219). `broker/server/client_protocol.py` reads, writes
and closes; `on_ready` informs it that a pending response has arrived, and it calls `resume`.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from broker.dispatch.dispatcher import Dispatcher
from broker.pending_response import PendingResponse
from broker.request.session import Session
from broker.responses import (
    NOTHING,
    WAITING,
    Beginning,
    Close,
    CloseManner,
    CompletedResponse,
    ConnectionOutput,
    DispatchResult,
    EncodedParts,
    PendingFrame,
    Throttled,
    ThrottlingQuota,
    new_output,
    unchanged,
)
from protocol.api_keys import ApiKey
from protocol.framing import SIZE_BYTES, Frame, FrameError, FrameReader, is_one_frame
from protocol.pacing import may_pause

if TYPE_CHECKING:  # imported with the first requests
    from broker.dispatch.fetch_replay import FetchReplay
    from broker.dispatch.produce_replay import ProduceReplay

WRITE_BYTES_PER_TURN = 256 * 1024
"""Bytes of responses written to one client before other clients are served.

A few hundred small requests can ask for megabytes of responses. This limits how long they block
other clients, and the memory that they take.
"""

HEAVY_BYTES_MIN = 1 << 20
"""From this size on the rest of a request is not read while too many wait for their turns."""

_PRODUCE_KEY = ApiKey.PRODUCE.to_bytes(2, "big")
_FETCH_KEY = ApiKey.FETCH.to_bytes(2, "big")
_LEARNT_KEYS = (_PRODUCE_KEY, _FETCH_KEY)
_KEY_END = SIZE_BYTES + 2
"""Where the API key of a request ends."""


class Connection:
    """The state machine of one connection."""

    __slots__ = (
        "_close_reason",
        "_dispatcher",
        "_fetch_replay",
        "_frame_bytes_max",
        "_has_more",
        "_has_parts",
        "_muted_until_ms",
        "_on_ready",
        "_pending",
        "_reader",
        "_ready_response",
        "_replay",
        "_throttled_by",
        "_writes_parts",
        "broker_id",
        "client_host",
        "close_manner",
        "connection_id",
        "session",
    )

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        broker_id: int,
        connection_id: int,
        client_host: str,
        frame_bytes_max: int,
        sasl_bytes_max: int | None = None,
        on_ready: Callable[[], None],
        session: Session | None = None,
        writes_parts: bool = False,
    ) -> None:
        """`on_ready` is called when a pending response has arrived; then call `resume`.

        `session` has the listener of the client; by default it is PLAINTEXT. `sasl_bytes_max`
        bounds the frames of a client that has to authenticate (`sasl.server.max.receive.size`).
        With `writes_parts` an output with much to write has it in parts.
        """
        self.broker_id = broker_id
        self.connection_id = connection_id
        self.client_host = client_host
        self.session = session or Session()
        self._dispatcher = dispatcher
        self._frame_bytes_max = frame_bytes_max
        self._reader = FrameReader(frame_bytes_max)
        if sasl_bytes_max is not None and not self.session.is_authenticated:
            self._reader = FrameReader(sasl_bytes_max, "sasl.server.max.receive.size")
        self._on_ready = on_ready
        self._fetch_replay: FetchReplay | None = None
        self._replay: ProduceReplay | None = None
        self._writes_parts = writes_parts
        self._has_parts = False
        self._pending: PendingResponse | None = None
        self._ready_response: CompletedResponse = None
        self._close_reason: str | None = None
        self.close_manner = CloseManner.CLOSE
        """How it ends, if there is a reason."""
        self._has_more = False
        self._muted_until_ms = 0
        self._throttled_by: ThrottlingQuota | None = None

    @property
    def is_behind(self) -> bool:
        """Whether complete requests may wait in the buffer."""
        return self._has_more or self._pending is not None or self._muted_until_ms > 0

    @property
    def is_waiting(self) -> bool:
        """Whether a response is pending, or a quota mutes the connection."""
        is_pending = self._pending is not None and not self._pending.is_done
        return is_pending or self._muted_until_ms > 0

    @property
    def muted_until_ms(self) -> int:
        """When the mute of a quota ends; 0 without a mute."""
        return self._muted_until_ms

    @property
    def buffered_bytes(self) -> int:
        """Bytes that were received and not handled yet."""
        return self._reader.buffered_bytes

    @property
    def is_next_heavy(self) -> bool:
        """Whether a large request has arrived in part whose elements will be decoded."""
        return self._reader.buffered_bytes > HEAVY_BYTES_MIN and not self._reader.starts_with(
            _PRODUCE_KEY
        )

    def receive(self, data: bytes, now_ms: int) -> ConnectionOutput:
        """Feed bytes from the client, and handle all requests that can be handled now."""
        output = self.respond(data, now_ms)
        return new_output((output, None, False, 0, ())) if isinstance(output, bytes) else output

    def respond(self, data: bytes, now_ms: int) -> bytes | ConnectionOutput:
        """Do what `receive` does; return only the bytes to write if there are any and no more."""
        if self._close_reason is not None:
            return NOTHING
        reader, replayed = self._reader, 0
        out: list[bytes] = []
        if reader.is_empty and self._pending is None and not self._muted_until_ms:
            key = data[SIZE_BYTES:_KEY_END]
            if key == _PRODUCE_KEY:
                if self._replay is not None:
                    replayed, other = self._replay.respond(data, now_ms, out)
                    if other is not None:
                        reader.feed(data, replayed)
                        self._take_other(other, out, now_ms)
                        return self._advance(out, now_ms)
                    if replayed == len(data):
                        return (out[0] if len(out) == 1 else b"".join(out)) or NOTHING
            elif key == _FETCH_KEY and self._fetch_replay is not None:
                response = self._fetch_replay.respond(data, now_ms)
                if type(response) is bytes:
                    return new_output((response, None, False, 0, ()))
                if response is not None:
                    return self._taken(response, out, now_ms)
            if not replayed and is_one_frame(data, reader.frame_bytes_max):
                frame = data, SIZE_BYTES, len(data)
                result = self._dispatcher.dispatch(frame, self, now_ms)
                if key in _LEARNT_KEYS:
                    self._learn(frame, result, now_ms)
                return result if type(result) is bytes else self._taken(result, out, now_ms)
        reader.feed(data, replayed)
        return self._advance(out, now_ms) if self._muted_until_ms <= now_ms else NOTHING

    def _taken(
        self, response: DispatchResult, out: list[bytes], now_ms: int
    ) -> bytes | ConnectionOutput:
        """Return the output of the only request."""
        if type(response) is bytes:
            return response
        if response is not None:
            self._take_other(response, out, now_ms)
            if self._pending is not None and not out:
                return WAITING
        return self._output(out)

    def hold(self, data: bytes) -> None:
        """Feed bytes without handling them, for a client that does not read its responses."""
        self._reader.feed(data)

    def take_response(self) -> bytes | None:
        """Take the response that has arrived to the only request, and return what to write.

        None changes nothing: call `resume`. This is all of `resume` for most requests that wait.
        """
        response, pending = self._ready_response, self._pending
        if (
            type(response) is not bytes
            or not response
            or self._close_reason is not None
            or (pending is not None and not pending.is_done)
            or self._muted_until_ms
            or not self._reader.is_empty
        ):
            return None
        self._pending = self._ready_response = None
        self._has_more = False
        return response

    def resume(self, now_ms: int) -> ConnectionOutput:
        """Continue with a pending response that has arrived, then with the requests behind it.

        During a mute this does nothing.
        """
        ready = self.take_response()
        if ready is not None:
            return new_output((ready, None, False, 0, ()))
        if (
            self._close_reason is not None
            or (self._pending is not None and not self._pending.is_done)
            or (self._muted_until_ms > now_ms and self._ready_response is None)
        ):
            return NOTHING
        self._pending = None
        response, self._ready_response = self._ready_response, None
        out: list[bytes] = []
        self._finish(response, out, now_ms)
        if self._close_reason is not None:
            self._has_more = False
            return self._output(out)
        if self._reader.is_empty and not self._muted_until_ms:
            self._has_more = False
            return self._output(out)
        return self._advance(out, now_ms)

    def force_complete(self, now_ms: int) -> None:
        """Complete a pending response at once, if possible: the broker stops."""
        if self._pending is not None:
            self._pending.force_complete(now_ms)

    def lose(self) -> None:
        """Cancel the pending response: the client has disconnected."""
        if self._close_reason is None:
            self._close_reason = "client disconnected"
        if self._pending is not None:
            self._pending.cancel()
        # Both may refer to this object: reference counting frees it.
        self._pending = self._fetch_replay = self._replay = None
        self._end_mute()

    def _end_mute(self) -> None:
        self._muted_until_ms = 0
        if self._throttled_by is not None:
            self._throttled_by.queue_size -= 1
            self._throttled_by = None

    def _advance(self, out: list[bytes], now_ms: int) -> ConnectionOutput:
        reader = self._reader
        dispatch = self._dispatcher.dispatch
        left_bytes = WRITE_BYTES_PER_TURN
        if 0 < self._muted_until_ms <= now_ms:
            self._end_mute()
        try:
            while (
                left_bytes > 0
                and self._pending is None
                and not self._muted_until_ms
                and self._close_reason is None
            ):
                frame = reader.next_frame()
                if frame is None:
                    break
                response = dispatch(frame, self, now_ms)
                if frame[0].startswith(_LEARNT_KEYS, frame[1]):
                    self._learn(frame, response, now_ms)
                if type(response) is bytes:
                    out.append(response)
                    left_bytes -= len(response)
                elif response is not None:
                    left_bytes -= self._take_other(response, out, now_ms)
                if reader.is_empty:
                    break
        except FrameError as error:
            if self.session.is_authenticated and reader.frame_bytes_max != self._frame_bytes_max:
                reader.frame_bytes_max = self._frame_bytes_max
                reader.limit_name = "socket.request.max.bytes"
                return self._advance(out, now_ms)
            self._close_reason = str(error)
        self._has_more = left_bytes <= 0
        if self._has_parts:
            return self._output(out)
        write = out[0] if len(out) == 1 else b"".join(out)
        return new_output((write, self._close_reason, self._has_more, self._muted_until_ms, ()))

    def _output(self, out: list[bytes]) -> ConnectionOutput:
        parts: list[bytes] = []
        if self._has_parts:
            self._has_parts = False
            if self._writes_parts:
                out, parts = parts, out
        write = out[0] if len(out) == 1 else b"".join(out)
        return new_output((write, self._close_reason, self._has_more, self._muted_until_ms, parts))

    def _learn(self, frame: Frame, response: DispatchResult, now_ms: int) -> None:
        """Remember a request that was handled, so that equal ones take less time."""
        if isinstance(response, Close) or not self._dispatcher.learns_requests:
            return
        if frame[0].startswith(_PRODUCE_KEY, frame[1]):
            if self._replay is None:
                self._replay = self._dispatcher.new_produce_replay(self)
            self._replay.learn(frame, now_ms, self._reader.frame_bytes_max)
            return
        if self._fetch_replay is None:
            self._fetch_replay = self._dispatcher.new_fetch_replay(self)
        self._fetch_replay.learn(frame, now_ms)

    def _take_other(
        self,
        result: "PendingFrame | EncodedParts | Throttled | Close | Beginning | bytes",
        out: list[bytes],
        now_ms: int,
    ) -> int:
        """Take what is not a simple response; return the bytes of it that are written now."""
        if not isinstance(result, PendingFrame):
            return self._finish(result, out, now_ms)
        pending, encode = result
        if pending.is_done:
            return self._finish(encode(pending.response), out, now_ms)
        self._pending = pending
        pending.attach(partial(self._deliver, encode))
        return 0

    @may_pause
    def _deliver(self, encode: Callable[[Any], CompletedResponse], response: object) -> None:
        """Take the response to a request that has waited."""
        self._ready_response = encode(response)
        self._on_ready()

    def _finish(self, response: CompletedResponse, out: list[bytes], now_ms: int) -> int:
        if isinstance(response, Close):
            self._close_reason, self.close_manner = response.reason, response.manner
            if response.response is not None:
                out.append(response.response)
        elif isinstance(response, Throttled):
            # The mute begins when the response is sent, not when the request arrived.
            self._muted_until_ms = now_ms + response.throttle_time_ms
            self._throttled_by = response.throttled_by
            self._throttled_by.queue_size += 1
            if response.frame is not None:
                out.append(response.frame)
        elif isinstance(response, Beginning):
            out.append(response.written)
            self._pending = rest = response.rest
            if rest.is_done:  # its time has come before this could be written
                self._deliver(unchanged, rest.response)
            else:
                rest.attach(partial(self._deliver, unchanged))
        elif isinstance(response, EncodedParts):
            self._has_parts = True
            out += response.parts
            return response.size_bytes
        elif response is not None:
            out.append(response)
        return 0
