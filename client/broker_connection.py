"""One connection of an asyncio client: many requests in flight, responses in their order."""

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

from client.errors import ClientError, ConnectionLostError, SecurityError, UnreachableError
from client.handshake import Handshake
from client.protocol_codec import ProtocolCodec
from client.resources import Address
from client.security import SaslSettings
from protocol import messages


class BrokerConnection(asyncio.Protocol):
    """Opens itself with `handshake`, then calls `on_open`, `on_response` and, once, `on_lost`.

    It calls none of them after `abort`.
    """

    def __init__(
        self,
        client_id: str,
        sasl: SaslSettings | None,
        *,
        on_open: Callable[[], None],
        on_response: "Callable[[messages.Message], None]",
        on_lost: Callable[[ClientError], None],
    ) -> None:
        self.codec = ProtocolCodec(client_id)
        self._handshake = Handshake(self.codec, sasl)
        self._is_open = False
        self._is_closed = False
        self._on_open = on_open
        self._on_response = on_response
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None

    async def connect(self, address: Address, tls: ssl.SSLContext | None) -> None:
        """Open the connection; call `on_lost` if that fails."""
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(
                lambda: self,
                address.host,
                address.port,
                ssl=tls,
                server_hostname=address.host if tls is not None else None,
            )
        except (ssl.SSLError, ssl.CertificateError) as error:
            self._fail(SecurityError(f"no TLS with {address.host}: {error}"))
        except OSError as error:
            place = str(address)
            self._fail(UnreachableError(f"cannot connect to {place}: {error.strerror or error}"))

    def write(self, frame: bytes) -> None:
        """Send a frame; asyncio buffers what the socket doesn't take."""
        assert self._transport is not None
        self._transport.write(frame)

    def hand_over(self, protocol: asyncio.Protocol) -> None:
        """Let another protocol read and write; call it in `on_open`, and this one no more."""
        assert self._transport is not None
        protocol.connection_made(self._transport)
        self._transport.set_protocol(protocol)

    def abort(self) -> None:
        """Close the connection without calling `on_lost`."""
        self._is_closed = True
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        # A cast: uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        if self._is_closed:
            self._transport.abort()
        else:
            self.write(self._handshake.first_frame())

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self.codec.feed(data)
        try:
            while not self._is_closed and (response := self.codec.next_response()) is not None:
                if self._is_open:
                    self._on_response(response)
                else:
                    self._continue_handshake(response)
        except ClientError as error:
            self._fail(error)

    def connection_lost(self, error: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        reason = error or "the broker closed the connection"
        self._fail(ConnectionLostError(f"lost the connection: {reason}"))

    def _continue_handshake(self, response: "messages.Message") -> None:
        frame = self._handshake.next_frame(response)
        if frame is not None:
            self.write(frame)
        else:
            self._is_open = True
            self._on_open()

    def _fail(self, error: ClientError) -> None:
        if not self._is_closed:
            self.abort()
            self._on_lost(error)
