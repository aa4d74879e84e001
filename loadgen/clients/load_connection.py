"""One connection of the load: questions one at a time, or Produce frames in a row.

The handshake, and every question whose response is decoded as a message, goes through `client.protocol_codec`;
Produce frames are handed to the transport as they are, and their answers to the link's reader.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Protocol, cast

from client.errors import ConnectionLostError, UnreachableError
from client.handshake import handshake
from client.protocol_codec import ProtocolCodec
from client.resources import Address
from client.security import Security
from loadgen import clock
from protocol.codec import DecodeError

CONNECT_TIMEOUT_S = 5.0

_SIZE = Struct(">i")


class Reader(Protocol):
    """Who gets the answers to Produce frames."""

    def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
        """The answer to the oldest frame is `buffer[start:end]`, without its size."""

    def lost(self, now_us: int) -> None:
        """The connection is gone, and with it all responses still to come."""


@dataclass(frozen=True, slots=True)
class Access:
    """How a tenant's connections get in."""

    client_id: str
    security: Security = field(default_factory=Security)
    tls: ssl.SSLContext | None = None
    """What `security.tls` comes to."""


class Link(asyncio.Protocol):
    """A connection that has been opened by `open_link`."""

    def __init__(self, client_id: str) -> None:
        self.wire = ProtocolCodec(client_id)
        self.reader: Reader | None = None
        self.muted_until_us = 0
        """A throttle that was told here lasts so long."""
        self.is_lost = False
        self._transport: asyncio.Transport | None = None
        self._asked: asyncio.Future[Any] | None = None
        self._rest = b""
        self._held: list[bytes] | None = None
        """Frames that wait for the end of the read that is being worked off."""
        self._gone = asyncio.get_running_loop().create_future()
        self._is_deaf = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._is_deaf:
            return
        if self._asked is not None:
            self._take_message(data)
            return
        reader = self.reader
        if reader is None:
            self.abort()
            return
        now_us = clock.now_us()
        if self._rest:
            data = self._rest + data
        position, available = 0, len(data)
        held = self._held = []
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
            self._held = None
        self._rest = data[position:]
        if held and self._transport is not None:
            self._transport.write(b"".join(held))

    def eof_received(self) -> bool:
        """See `asyncio.Protocol`; the broker has closed, and so do we."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self.is_lost = True
        if not self._gone.done():
            self._gone.set_result(None)
        asked, self._asked = self._asked, None
        if asked is not None and not asked.done():
            reason = f": {exc}" if exc else ""
            asked.set_exception(ConnectionLostError(f"the broker closed the connection{reason}"))
        if self.reader is not None:
            self.reader.lost(clock.now_us())

    async def ask(self, request: Any, timeout_s: float) -> Any:
        """The answer to a message; nothing else may be on the way.

        Raises:
            ConnectionLostError: the connection broke, or the time is over, which breaks it.
            UnsupportedVersionError: the broker does not speak this API.
        """
        return await self.exchange(self.wire.request(request), timeout_s)

    def send(self, frame: bytes) -> None:
        """Send a Produce frame; its response goes to `reader`.

        What the responses of one read cause is written at once, for one system call instead of many.
        """
        if self._held is not None:
            self._held.append(frame)
        elif self._transport is not None:
            self._transport.write(frame)

    async def lose_responses(self, timeout_s: float) -> None:
        """Have everything sent so far taken in, hear no response, and be disconnected.

        The sending half is closed: the broker reads what was sent, then the end.
        """
        self._is_deaf = True
        if self._transport is not None and not self.is_lost:
            if self._transport.can_write_eof():  # TLS can't
                self._transport.write_eof()
            else:
                self._transport.close()
            await asyncio.wait([self._gone], timeout=timeout_s)
            self._transport.abort()
        await asyncio.wait([self._gone], timeout=timeout_s)

    def abort(self) -> None:
        """Break the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    async def exchange(self, frame: bytes, timeout_s: float) -> Any:
        """As `ask`, with the frame that `wire.request` made of the message."""
        if self.is_lost or self._transport is None:
            raise ConnectionLostError("the connection is closed")
        self._asked = asyncio.get_running_loop().create_future()
        self._transport.write(frame)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._asked
        except TimeoutError as error:
            self.abort()
            raise ConnectionLostError(f"no response within {timeout_s:g} s") from error
        finally:
            self._asked = None

    def _take_message(self, data: bytes) -> None:
        asked = self._asked
        self.wire.feed(data)
        try:
            response = self.wire.next_response()
        except ConnectionLostError as error:
            if asked is not None and not asked.done():
                asked.set_exception(error)
            self.abort()
            return
        if response is not None and asked is not None and not asked.done():
            asked.set_result(response)

    async def shake_hands(self, access: Access, timeout_s: float) -> None:
        """Learn the broker's versions, and say who we are.

        Raises:
            ConnectionLostError: it broke.
            SecurityError: the broker does not let us in.
        """
        steps = handshake(self.wire, access.security.sasl)
        response: Any = None
        while True:
            try:
                frame = steps.send(response)
            except StopIteration:
                return
            response = await self.exchange(frame, timeout_s)


async def open_link(address: Address, access: Access) -> Link:
    """Connect, and be let in.

    Raises:
        UnreachableError: no connection could be opened.
        ConnectionLostError: it broke at once.
        SecurityError: the broker does not let us in.
    """
    loop = asyncio.get_running_loop()
    link = Link(access.client_id)
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await loop.create_connection(
                lambda: link,
                address.host,
                address.port,
                ssl=access.tls,
                server_hostname=address.host if access.tls else None,
            )
    except (OSError, TimeoutError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "no response"
        raise UnreachableError(
            f"cannot connect to {address.host}:{address.port}: {reason}"
        ) from error
    try:
        await link.shake_hands(access, CONNECT_TIMEOUT_S)
    except BaseException:
        link.abort()
        raise
    return link


class ResponseQueue:
    """A `Reader` for those who wait for each response."""

    def __init__(self, read: Callable[[bytes, int, int], tuple[int, int, int, int]]) -> None:
        """`read` is `ProduceFrames.read`."""
        self._read = read
        self._waiting: deque[asyncio.Future[tuple[int, int, int, int]]] = deque()

    def expect(self) -> "asyncio.Future[tuple[int, int, int, int]]":
        """What `read` gives for the next frame's answer, then the time in µs in its first place.

        Fails with a ConnectionLostError when the connection breaks before.
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
                future.exception()  # whoever does not wait any more need not hear of it
