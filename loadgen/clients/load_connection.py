"""One connection of the load: single requests, or Produce frames in a pipeline.

The handshake and single requests are encoded and decoded by `client.protocol_codec`. Produce frames
go to the transport unchanged, and their responses to the connection's reader.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any, Protocol, cast

from client.errors import ConnectionLostError, UnreachableError
from client.handshake import handshake
from client.protocol_codec import ProtocolCodec
from client.resources import Address
from loadgen import clock
from loadgen.clients.connection_settings import ConnectionSettings
from protocol.codec import DecodeError

CONNECT_TIMEOUT_S = 5.0

_SIZE = Struct(">i")


class Reader(Protocol):
    """Receives the responses to Produce frames."""

    def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
        """Take the response to the oldest frame, `buffer[start:end]` without its size."""

    def lost(self, now_us: int) -> None:
        """Note that the connection closed and that no more responses will come."""


class LoadConnection(asyncio.Protocol):
    """A connection to one broker, opened by `open_connection`."""

    def __init__(self, client_id: str) -> None:
        self.wire = ProtocolCodec(client_id)
        self.reader: Reader | None = None
        self.throttled_until_us = 0
        """When the last throttle of this connection ends."""
        self.is_lost = False
        self._transport: asyncio.Transport | None = None
        self._pending_response: asyncio.Future[Any] | None = None
        self._incomplete = b""
        self._pending_writes: list[bytes] | None = None
        """Frames to write after the responses of the current read; None outside of a read."""
        self._closed = asyncio.get_running_loop().create_future()
        self._is_discarding = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._is_discarding:
            return
        if self._pending_response is not None:
            self._receive_message(data)
            return
        reader = self.reader
        if reader is None:
            self.abort()
            return
        now_us = clock.now_us()
        if self._incomplete:
            data = self._incomplete + data
        position, available = 0, len(data)
        held = self._pending_writes = []
        try:
            while available - position >= 4:
                (size,) = _SIZE.unpack_from(data, position)
                end = position + 4 + size
                if end > available:
                    break
                reader.responded(data, position + 4, end, now_us)
                position = end
        except DecodeError:
            self.abort()
            return
        finally:
            self._pending_writes = None
        self._incomplete = data[position:]
        if held and self._transport is not None:
            self._transport.write(b"".join(held))

    def eof_received(self) -> bool:
        """Close as well; see `asyncio.Protocol`."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self.is_lost = True
        if not self._closed.done():
            self._closed.set_result(None)
        pending, self._pending_response = self._pending_response, None
        if pending is not None and not pending.done():
            reason = f": {exc}" if exc else ""
            pending.set_exception(ConnectionLostError(f"the broker closed the connection{reason}"))
        if self.reader is not None:
            self.reader.lost(clock.now_us())

    async def send_request(self, request: Any, timeout_s: float) -> Any:
        """Send a message and return its response; no other response may be pending.

        Raises:
            ConnectionLostError: the connection closed, or was closed after the timeout.
            UnsupportedVersionError: the broker does not support this API.
        """
        return await self.exchange(self.wire.request(request), timeout_s)

    def send(self, frame: bytes) -> None:
        """Send a Produce frame; its response goes to `reader`.

        Frames that the responses of one read cause are written with one system call.
        """
        if self._pending_writes is not None:
            self._pending_writes.append(frame)
        elif self._transport is not None:
            self._transport.write(frame)

    async def discard_responses(self, timeout_s: float) -> None:
        """Let the broker read all requests, discard their responses, and close the connection.

        Only the sending half is closed, so that the broker still reads what was sent.
        """
        self._is_discarding = True
        if self._transport is not None and not self.is_lost:
            if self._transport.can_write_eof():  # not with TLS
                self._transport.write_eof()
            else:
                self._transport.close()
            await asyncio.wait([self._closed], timeout=timeout_s)
            self._transport.abort()
        await asyncio.wait([self._closed], timeout=timeout_s)

    def abort(self) -> None:
        """Close the connection without waiting."""
        if self._transport is not None:
            self._transport.abort()

    async def exchange(self, frame: bytes, timeout_s: float) -> Any:
        """Send a frame made by `wire.request` and return its response, as `send_request` does."""
        if self.is_lost or self._transport is None:
            raise ConnectionLostError("the connection is closed")
        self._pending_response = asyncio.get_running_loop().create_future()
        self._transport.write(frame)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._pending_response
        except TimeoutError as error:
            self.abort()
            raise ConnectionLostError(f"no response within {timeout_s:g} s") from error
        finally:
            self._pending_response = None

    def _receive_message(self, data: bytes) -> None:
        pending = self._pending_response
        self.wire.feed(data)
        try:
            response = self.wire.next_response()
        except ConnectionLostError as error:
            if pending is not None and not pending.done():
                pending.set_exception(error)
            self.abort()
            return
        if response is not None and pending is not None and not pending.done():
            pending.set_result(response)

    async def handshake(self, settings: ConnectionSettings, timeout_s: float) -> None:
        """Exchange API versions and authenticate.

        Raises:
            ConnectionLostError: the connection closed.
            SecurityError: authentication failed.
        """
        steps = handshake(self.wire, settings.security.sasl)
        response: Any = None
        while True:
            try:
                frame = steps.send(response)
            except StopIteration:
                return
            response = await self.exchange(frame, timeout_s)


async def open_connection(address: Address, settings: ConnectionSettings) -> LoadConnection:
    """Connect and authenticate.

    Raises:
        UnreachableError: no connection could be opened.
        ConnectionLostError: the connection closed.
        SecurityError: authentication failed.
    """
    loop = asyncio.get_running_loop()
    connection = LoadConnection(settings.client_id)
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await loop.create_connection(
                lambda: connection,
                address.host,
                address.port,
                ssl=settings.tls,
                server_hostname=address.host if settings.tls else None,
            )
    except (OSError, TimeoutError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "no response"
        raise UnreachableError(
            f"cannot connect to {address.host}:{address.port}: {reason}"
        ) from error
    try:
        await connection.handshake(settings, CONNECT_TIMEOUT_S)
    except BaseException:
        connection.abort()
        raise
    return connection


class ResponseQueue:
    """A `Reader` with a future for each response."""

    def __init__(self, read: Callable[[bytes, int, int], tuple[int, int, int, int]]) -> None:
        """Decode responses with `read`, which is `ProduceFrames.read`."""
        self._read = read
        self._waiting: deque[asyncio.Future[tuple[int, int, int, int]]] = deque()

    def expect(self) -> "asyncio.Future[tuple[int, int, int, int]]":
        """Return a future with what `read` returns for the next response.

        The time in µs replaces the correlation id. If the connection closes, the future fails with
        ConnectionLostError.
        """
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
        """See `Reader`."""
        _, error_code, base_offset, throttle_time_ms = self._read(buffer, start, end)
        future = self._waiting.popleft()
        if not future.done():
            future.set_result((now_us, error_code, base_offset, throttle_time_ms))

    def lost(self, now_us: int) -> None:
        """See `Reader`."""
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(ConnectionLostError("lost the connection"))
                future.exception()  # no warning if nobody waits for it any more
