"""The socket of the connection to a broker behind the proxy."""

import asyncio
from typing import Any, Protocol

BUFFERED_BYTES_HIGH = 128 * 1024
"""Bytes that wait for one side before nothing more is read from the other."""


class ClientSide(Protocol):
    """The connection of the client, as far as the other side needs it."""

    def upstream_opened(self, upstream: "UpstreamSide") -> None:
        """Send what the client has sent so far."""
        ...

    def upstream_received(self, data: bytes) -> None:
        """Take bytes of the broker."""
        ...

    def upstream_lost(self, error: Exception | None) -> None:
        """Close the client's connection: the broker has closed the other one."""
        ...

    def upstream_blocks(self, *, is_blocked: bool) -> None:
        """Stop or go on reading from the client: the broker does not read."""
        ...


class UpstreamSide(asyncio.Protocol):
    """One connection to a broker, for one client."""

    __slots__ = ("_client", "transport")

    def __init__(self, client: ClientSide) -> None:
        self._client = client
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        self.transport = transport
        self.transport.set_write_buffer_limits(BUFFERED_BYTES_HIGH)
        self._client.upstream_opened(self)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._client.upstream_received(data)

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._client.upstream_blocks(is_blocked=True)

    def resume_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._client.upstream_blocks(is_blocked=False)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._client.upstream_lost(exc)
