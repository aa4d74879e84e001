"""One listening socket of one broker, which can be closed and reopened on its port."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from broker.addresses import Address

LISTEN_BACKLOG = 4096


class ListenError(Exception):
    """An address cannot be bound; the message is one line that names it."""


ProtocolFactory = Callable[[], asyncio.BaseProtocol]


class Listener:
    """Accept connections for one broker, except while it refuses them."""

    def __init__(
        self, broker_id: int, factory: ProtocolFactory, tls: ssl.SSLContext | None, name: str = ""
    ) -> None:
        """`factory` creates the protocol of every connection."""
        self.broker_id = broker_id
        self.name = name
        self._factory = factory
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self._addresses: list[tuple[socket.AddressFamily, tuple[str, int]]] = []
        # Sockets that reserve the ports of a listener that refuses connections.
        self._held: list[socket.socket] = []
        self._opening: asyncio.Task[None] | None = None
        self.accepts = False
        """Whether it listens, or is about to."""
        self._is_over = False

    async def open(self, host: str, port: int) -> int:
        """Listen and return the port, which the system chooses if 0 was requested.

        Raises:
            ListenError: the address cannot be bound.
        """
        try:
            server = await asyncio.get_running_loop().create_server(
                self._factory,
                host,
                port,
                backlog=LISTEN_BACKLOG,
                reuse_address=True,
                ssl=self._tls,
            )
        except (OSError, OverflowError) as error:
            raise cannot_listen(host, port, error) from error
        self._servers = [server]
        self._addresses = [(bound.family, bound.getsockname()) for bound in server.sockets]
        self.accepts = True
        return int(self._addresses[0][1][1])

    def drop_waiting(self) -> None:
        """Close the connections that the system has made and the event loop has not accepted."""
        for server in self._servers:
            for bound in server.sockets:
                # The loop's own object has no `accept`; ours refers to the same socket.
                with suppress(OSError), socket.socket(fileno=os.dup(bound.fileno())) as waiting:
                    waiting.setblocking(False)
                    for _ in range(LISTEN_BACKLOG):
                        waiting.accept()[0].close()

    def use_tls(self, tls: ssl.SSLContext | None) -> None:
        """Have new connections use another TLS context, also those that nobody has accepted yet."""
        self._tls = tls
        if self._opening is None and self._servers:
            bound = [listening for server in self._servers for listening in server.sockets]
            waiting = [socket.socket(fileno=os.dup(listening.fileno())) for listening in bound]
            self._close_sockets()
            self._held = waiting
            self._opening = asyncio.get_running_loop().create_task(self._serve())

    async def close(self) -> None:
        """Stop listening for good."""
        if self._opening is not None:
            await self._opening
        self._close_sockets()

    def end(self) -> None:
        """Stop listening for good without waiting, even for a start in progress."""
        self._is_over = True
        self.accepts = False
        if self._opening is None:
            self._close_sockets()

    def refuse(self) -> None:
        """Stop listening and keep the port bound, so that it refuses connections."""
        self.accepts = False
        if self._opening is None and not self._held:
            self._close_sockets()
            self._held = [_bind(family, address) for family, address in self._addresses]

    def accept_again(self) -> None:
        """Listen again on the same port."""
        self.accepts = True
        if self._opening is None and self._held:
            for held in self._held:
                held.listen(LISTEN_BACKLOG)
            self._opening = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        tls = self._tls
        self._servers = [
            await loop.create_server(self._factory, sock=held, backlog=LISTEN_BACKLOG, ssl=tls)
            for held in self._held
        ]
        self._held = []
        self._opening = None
        if self._is_over:
            self._close_sockets()
        elif not self.accepts:
            self.refuse()
        elif self._tls is not tls:
            self.use_tls(self._tls)

    def _close_sockets(self) -> None:
        for server in self._servers:
            server.close()
        for held in self._held:
            held.close()
        self._servers, self._held = [], []


def cannot_listen(host: str, port: int, error: OSError | OverflowError) -> ListenError:
    """Return the error for an address that the system refuses."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return ListenError(f"cannot listen on {Address(host, port)}: {reason}")


def _bind(family: socket.AddressFamily, address: tuple[str, int]) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setblocking(False)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return a listening socket for each address of a host.

    Raises:
        OSError: an address cannot be bound.
    """
    flags = socket.AI_PASSIVE
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=flags)
    sockets: list[socket.socket] = []
    try:
        for family, _type, _protocol, _name, address in dict.fromkeys(found):
            sockets.append(_bind(family, address))  # type: ignore[arg-type]
            sockets[-1].listen(LISTEN_BACKLOG)
    except OSError:
        for bound in sockets:
            bound.close()
        raise
    return sockets
