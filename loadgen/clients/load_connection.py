"""One connection of the load: messages and Produce frames, with responses in their order.

`client.broker_connection` opens it. Messages are encoded and decoded by `client.protocol_codec`.
Produce frames go to the transport unchanged.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import repeat
from struct import Struct
from typing import Any, Protocol, TypeVar, cast

from client.broker_connection import BrokerConnection
from client.errors import ClientError, ConnectionLostError, UnreachableError
from client.protocol_codec import ProtocolCodec
from client.resources import Address
from loadgen import clock
from loadgen.clients.connection_settings import ConnectionSettings
from protocol import messages
from protocol.codec import DecodeError

CONNECT_TIMEOUT_S = 5.0

_SIZE = Struct(">i")

T = TypeVar("T")
ResponseT = TypeVar("ResponseT", bound="messages.Message")


class Reader(Protocol):
    """Receives the response to a frame."""

    def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
        """Take the response, `buffer[start:end]` without its size.

        Raises:
            DecodeError: it is not the response to the frame; the connection closes.
        """


class RunReader(Protocol):
    """Receives responses to its frames together; it is the only reader of its connection."""

    def responded_to_run(self, buffer: bytes, now_us: int) -> tuple[int, int]:
        """Take responses at the beginning of a read, each with its size.

        Returns:
            How many, and their bytes; from the next one on each of them goes to its `Reader`.
        """


class LoadConnection(asyncio.Protocol):
    """A connection to one broker, opened by `open_connection`.

    It has its own way to read, because `BrokerConnection` makes a message of each response, which
    costs more than all the rest of an event: a `Reader` gets the bytes of its response instead.
    """

    def __init__(self, wire: ProtocolCodec) -> None:
        """`wire` makes the frames of messages."""
        self.wire = wire
        self.throttled_until_us = 0
        """When the last throttle of this connection ends."""
        self.is_lost = False
        self.run_reader: RunReader | None = None
        """The reader of all responses, if there is only one; it gets them together."""
        self.run_bytes_min = 0
        """The bytes of a read from which on it does."""
        self.on_lost: Callable[[int], None] | None = None
        """Called once with the time in µs, when the connection has closed."""
        self._transport: asyncio.Transport | None = None
        self._readers: deque[Reader] = deque()
        """The readers of the responses in flight, oldest first."""
        self._futures: set[asyncio.Future[Any]] = set()
        """Those of `request` that have no response yet."""
        self._incomplete = bytearray()
        """The beginning of a response."""
        self._incomplete_size = 0
        """The size of that response, as far as it is known."""
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
        now_us = clock.now_us()
        if self._incomplete:
            self._incomplete += data
            if len(self._incomplete) < self._incomplete_size:
                return
            data = bytes(self._incomplete)
            self._incomplete = bytearray()
        position, available, end = 0, len(data), 4
        readers = self._readers
        held = self._pending_writes = []
        try:
            if self.run_reader is not None and available >= self.run_bytes_min:
                taken, position = self.run_reader.responded_to_run(data, now_us)
                for _ in range(taken):
                    readers.popleft()
            while available - position >= 4:
                (size,) = _SIZE.unpack_from(data, position)
                end = position + 4 + size
                if end > available:
                    break
                if not readers:  # a response without a request
                    self.abort()
                    return
                readers.popleft().responded(data, position + 4, end, now_us)
                position = end
        except DecodeError:
            self.abort()
            return
        finally:
            self._pending_writes = None
        if position < available:
            self._incomplete += data[position:]
            self._incomplete_size = max(4, end - position)
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
        reason = f": {exc}" if exc else ""
        for future in self._futures.copy():
            _fail(future, f"the broker closed the connection{reason}")
        if self.on_lost is not None:
            self.on_lost(clock.now_us())

    def send(self, frames: bytes, reader: Reader, count: int = 1) -> None:
        """Send a frame, or `count` of them, whose responses go to `reader`.

        Frames that the responses of one read cause are written with one system call.
        """
        if count == 1:
            self._readers.append(reader)
        else:
            self._readers.extend(repeat(reader, count))
        if self._pending_writes is not None:
            self._pending_writes.append(frames)
        elif self._transport is not None:
            self._transport.write(frames)

    def request(
        self, frame: bytes, decode: Callable[[bytes, int, int], T]
    ) -> "asyncio.Future[tuple[int, T]]":
        """Send a frame; return a future of the time in µs of its response, and of its content.

        The content is what `decode` returns for the bytes that a `Reader` gets. If there is no
        such response, the future fails with ConnectionLostError.
        """
        future: asyncio.Future[tuple[int, T]] = asyncio.get_running_loop().create_future()
        if self.is_lost:
            _fail(future, "the connection is closed")
            return future
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        self.send(frame, _FutureReader(future, decode))
        return future

    async def exchange(self, frame: bytes, timeout_s: float) -> "messages.Message":
        """Send a frame made by `wire.request` and return its response.

        Raises:
            ConnectionLostError: the connection closed, or was closed after the timeout.
        """
        try:
            async with asyncio.timeout(timeout_s):
                _, response = await self.request(frame, self.wire.decode)
        except TimeoutError as error:
            self.abort()
            raise _no_response(timeout_s) from error
        return response

    async def send_request(
        self, request: "messages.Request[ResponseT]", timeout_s: float
    ) -> ResponseT:
        """Send a message and return its response.

        Raises:
            ConnectionLostError: the connection closed, or was closed after the timeout.
            UnsupportedVersionError: the broker does not support this API.
        """
        return cast("ResponseT", await self.exchange(self.wire.request(request), timeout_s))

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


class _FutureReader:
    """A `Reader` that decodes one response and gives it to a future."""

    __slots__ = ("_decode", "_future")

    def __init__(
        self, future: "asyncio.Future[tuple[int, T]]", decode: Callable[[bytes, int, int], T]
    ) -> None:
        self._future = future
        self._decode = decode

    def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
        """See `Reader`."""
        try:
            content = self._decode(buffer, start, end)
        except DecodeError as error:
            _fail(self._future, f"cannot decode the broker's response: {error}")
            raise
        if not self._future.done():
            self._future.set_result((now_us, content))


def _fail(future: "asyncio.Future[Any]", reason: str) -> None:
    if not future.done():
        future.set_exception(ConnectionLostError(reason))
        future.exception()  # no warning if nobody waits for it any more


def _no_response(timeout_s: float) -> ConnectionLostError:
    return ConnectionLostError(f"no response within {timeout_s:g} s")


async def open_connection(
    address: Address, settings: ConnectionSettings, timeout_s: float = CONNECT_TIMEOUT_S
) -> LoadConnection:
    """Connect and authenticate; each of the two may take `timeout_s`.

    Raises:
        UnreachableError: no connection could be opened.
        ConnectionLostError: the connection closed, or was closed after the timeout.
        SecurityError: TLS or authentication failed.
    """
    opened: asyncio.Future[LoadConnection] = asyncio.get_running_loop().create_future()

    def on_open() -> None:
        if not opened.done():
            connection = LoadConnection(opening.codec)
            opening.hand_over(connection)
            opened.set_result(connection)

    def on_lost(error: ClientError) -> None:
        if not opened.done():
            opened.set_exception(error)

    opening = BrokerConnection(
        settings.client_id,
        settings.security.sasl,
        on_open=on_open,
        on_response=lambda _: None,  # the other protocol gets them
        on_lost=on_lost,
    )
    try:
        try:
            async with asyncio.timeout(timeout_s):
                await opening.connect(address, settings.tls)
        except TimeoutError as error:
            raise UnreachableError(f"cannot connect to {address}: no response") from error
        try:
            async with asyncio.timeout(timeout_s):
                return await opened
        except TimeoutError as error:
            raise ConnectionLostError(
                f"{address} accepts connections and does not respond within {timeout_s:g} s"
            ) from error
    except BaseException:
        opening.abort()
        raise
