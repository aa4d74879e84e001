"""The client's end of a connection of a simulated network, as a transport of asyncio."""

import asyncio
from collections.abc import Iterable
from typing import Any, cast

from simulation.network import Link, Network
from simulation.timeline import SocketAddress

HIGH_BYTES = 64 * 1024
"""Bytes on their way at which the protocol is asked to pause, as by asyncio's own transports."""
USER = "ANONYMOUS"


class ClientTransport(asyncio.Transport):
    """A transport whose other end is a server of the network.

    When the server ends its stream, the protocol may go on sending (half-close). The server is
    gone then, as that of a TCP connection: what it gets, it answers with a reset.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        protocol: asyncio.BaseProtocol,
        opened: asyncio.Future[None],
    ) -> None:
        """`opened` is done when the connection is open, or has failed."""
        super().__init__()
        self._loop = loop
        self._protocol: Any = protocol
        self._opened = opened
        self._link: Link | None = None
        self._peer = ("", 0)
        self._is_closing = self._is_lost = self._is_paused = False
        self._has_peer_ended = self._has_ended = False
        self._high_bytes, self._low_bytes = HIGH_BYTES, HIGH_BYTES // 4
        self._is_reading = True

    def connect(self, network: Network, host: str, address: SocketAddress) -> None:
        """Connect as the client `host`."""
        self._peer = (address.host, address.port)
        self._link = link = network.connect(USER, host, address, self)
        link.up.on_drained = self._on_drained

    # What the network calls --------------------------------------------------------------------

    def on_open(self) -> None:
        """The connection is open."""
        self._protocol.connection_made(self)
        if not self._opened.done():
            self._opened.set_result(None)

    def on_bytes(self, data: bytes) -> None:
        """Pass received bytes to the protocol."""
        if not self._is_lost:
            self._protocol.data_received(data)

    def on_closed(self, reason: str) -> None:
        """Pass the end of the server's stream to the protocol, or that of the connection."""
        link = self._open_link
        if not link.is_open:
            if not self._opened.done():
                self._opened.set_exception(ConnectionRefusedError(f"{reason}: {self._peer}"))
        elif link.is_cut:
            self._lose(ConnectionResetError("the network has cut the connection"))
        else:
            self._has_peer_ended = True
            if not self._is_closing and not self._protocol.eof_received():
                self.close()

    def _on_drained(self) -> None:
        if self._is_paused and self.get_write_buffer_size() <= self._low_bytes:
            self._is_paused = False
            if not self._is_closing:
                self._protocol.resume_writing()

    # What the client calls ---------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes to the server; they are lost if the connection is."""
        if self._is_closing or self._has_ended or not data:
            return
        if self._has_peer_ended:
            self._lose(ConnectionResetError("the server has closed the connection"))
            return
        link = self._open_link
        link.send(link.up, bytes(data))
        if link.up.unread_bytes > self._high_bytes and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        """Send several pieces in one."""
        self.write(b"".join(list_of_data))

    def write_eof(self) -> None:
        """End this side of the connection after what was written."""
        self._has_ended = True
        self._open_link.up.finish()

    def can_write_eof(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Close the connection; what was written still arrives."""
        if not self._is_closing:
            self._open_link.close(is_graceful=True)
            self._lose(None)

    def abort(self) -> None:
        """Close the connection; what was written may arrive."""
        if not self._is_closing and self._link is not None:
            self._link.close()
            self._lose(None)

    def is_closing(self) -> bool:
        """Return whether it is closed or closing."""
        return self._is_closing

    def pause_reading(self) -> None:
        """Pass no more data to the protocol."""
        self._is_reading = False
        self._open_link.down.pause()

    def resume_reading(self) -> None:
        """Pass data to the protocol again."""
        self._is_reading = True
        self._open_link.down.resume()

    def is_reading(self) -> bool:
        """Return whether data is passed to the protocol."""
        return self._is_reading and not self._is_closing

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the bytes on their way at which the protocol pauses and resumes."""
        if high is None:
            high = HIGH_BYTES if low is None else 4 * low
        self._high_bytes, self._low_bytes = high, high // 4 if low is None else low

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Return the low and the high limit."""
        return self._low_bytes, self._high_bytes

    def get_write_buffer_size(self) -> int:
        """Return how many bytes the server has not read."""
        return self._open_link.up.unread_bytes

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the address of either end."""
        link = self._open_link
        return {"peername": self._peer, "sockname": (link.host, link.number)}.get(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Have another protocol receive from now on."""
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol."""
        return cast("asyncio.BaseProtocol", self._protocol)

    @property
    def _open_link(self) -> Link:
        assert self._link is not None
        return self._link

    def _lose(self, error: Exception | None) -> None:
        self._is_closing = True
        self._loop.call_soon(self._report_loss, error)

    def _report_loss(self, error: Exception | None) -> None:
        if not self._is_lost and self._open_link.is_open:
            self._protocol.connection_lost(error)
        self._is_lost = True
