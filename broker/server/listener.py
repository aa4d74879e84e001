"""One listening socket of one broker, which can be closed and reopened on its port."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from broker.addresses import Address

LISTEN_BACKLOG = 4096

_SocketAddress = tuple[int, tuple[Any, ...]]
"""A family, and an address of it: host, port, and more for IPv6."""
_EXCLUSIVE: int = getattr(socket, "SO_EXCLUSIVEADDRUSE", 0)  # of Windows
_NOT_HERE = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


class ListenError(Exception):
    """An address cannot be bound; the message is one line that names it."""


class _PortTakenError(Exception):
    """A port that was free at the first address of a host is in use at another."""


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
        self._addresses: list[_SocketAddress] = []
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
        bound_port = self._bind(host, port)
        await self._serve()
        return bound_port

    def open_soon(self, host: str, port: int) -> int:
        """Return the port as `open` does, without a wait: connections are accepted in a moment.

        Raises:
            ListenError: the address cannot be bound.
        """
        bound_port = self._bind(host, port)
        self._opening = asyncio.get_running_loop().create_task(self._serve())
        return bound_port

    def _bind(self, host: str, port: int) -> int:
        try:
            sockets = listening_sockets(host, port)
        except (OSError, OverflowError) as error:
            raise cannot_listen(host, port, error) from error
        self._addresses = [(bound.family, bound.getsockname()) for bound in sockets]
        self._held = sockets
        self.accepts = True
        return int(self._addresses[0][1][1])

    def drop_waiting(self) -> None:
        """Close the connections that the system has made and the event loop has not accepted."""
        for server in self._servers:
            for bound in server.sockets:
                # The loop's own object has no `accept`; ours refers to the same socket.
                with suppress(OSError), _duplicate(bound) as waiting:
                    waiting.setblocking(False)
                    for _ in range(LISTEN_BACKLOG):
                        waiting.accept()[0].close()

    def use_tls(self, tls: ssl.SSLContext | None) -> None:
        """Have new connections use another TLS context, also those that nobody has accepted yet."""
        self._tls = tls
        if self._opening is None and self._servers:
            bound = [listening for server in self._servers for listening in server.sockets]
            waiting = [_duplicate(listening) for listening in bound]
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


def _duplicate(bound: socket.socket) -> socket.socket:
    return socket.fromfd(bound.fileno(), bound.family, bound.type)  # `os.dup` is for files alone


def _bind(family: int, address: tuple[Any, ...]) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setblocking(False)
        # SO_REUSEADDR lets two programs of Windows listen on one port.
        bound.setsockopt(socket.SOL_SOCKET, _EXCLUSIVE or socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return a listening socket for each address of a host, all with the same port.

    As in Java, `::` stands for all addresses, also those of IPv4. An address of a name that this
    machine does not have, such as `::1` without IPv6, is left out if there is another one.

    Raises:
        OSError: an address cannot be bound.
    """
    flags = socket.AI_PASSIVE
    every = None if host == "::" else host or None
    found = socket.getaddrinfo(every, port, type=socket.SOCK_STREAM, flags=flags)
    addresses = [(family, address) for family, *_, address in dict.fromkeys(found)]
    while True:
        try:
            return _bind_all(addresses)
        except _PortTakenError:
            continue


def _bind_all(addresses: Sequence[_SocketAddress]) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for family, (address, port, *more) in addresses:
            is_free_choice = port == 0 and bool(sockets)
            chosen = sockets[0].getsockname()[1] if is_free_choice else port
            try:
                bound = _bind(family, (address, chosen, *more))
            except OSError as error:
                if is_free_choice and error.errno == errno.EADDRINUSE:
                    raise _PortTakenError from error
                if error.errno not in _NOT_HERE:
                    raise
                missing = error
                continue
            sockets.append(bound)
            bound.listen(LISTEN_BACKLOG)
    except BaseException:
        for bound in sockets:
            bound.close()
        raise
    if missing is not None and not sockets:
        raise missing
    return sockets
