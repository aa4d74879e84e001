"""Each way to end a connection, as the peer of a real socket sees it."""

import asyncio
from typing import Any

import pytest

from broker.responses import CloseManner
from broker.server.connection_end import end_as


class Peer(asyncio.Protocol):
    """What the other side of a connection sees."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.made: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.made.set_result(None)

    def data_received(self, data: bytes) -> None:
        self.received += data

    def eof_received(self) -> bool:
        if not self.ended.done():
            self.ended.set_result("eof")
        return True

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(type(error).__name__)


@pytest.mark.parametrize(
    ("manner", "is_done", "seen"),
    [
        (CloseManner.CLOSE, False, None),
        (CloseManner.RESET, True, "ConnectionResetError"),
        (CloseManner.HALF_CLOSE, True, "eof"),
        (CloseManner.STOP_READING, True, None),
    ],
)
async def test_the_peer_sees_how_a_connection_ends(
    manner: CloseManner, is_done: bool, seen: str | None
) -> None:
    loop = asyncio.get_running_loop()
    here = Peer()
    server = await loop.create_server(lambda: here, "127.0.0.1", 0)
    _, there = await loop.create_connection(Peer, *server.sockets[0].getsockname())
    await here.made
    assert end_as(manner, here.transport) is is_done
    if seen is None:
        assert not there.ended.done()
    else:
        assert await asyncio.wait_for(there.ended, 30) == seen
    if manner is CloseManner.RESET:
        assert end_as(manner, here.transport) is False  # it is closing
    there.transport.abort()
    here.transport.abort()
    server.close()
    await server.wait_closed()


class WithoutHalfClose:
    """A transport that only closes in both directions, as with TLS."""

    def is_closing(self) -> bool:
        return False

    def can_write_eof(self) -> bool:
        return False


class WithoutSocket:
    """A transport of a simulated network."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str) -> None:
        self.calls.append(name)

    def abort(self) -> None:
        self.calls.append("abort")


def test_a_simulated_transport_is_reset_by_its_abort() -> None:
    transport = WithoutSocket()
    assert end_as(CloseManner.RESET, transport) is True
    assert transport.calls == ["socket", "abort"]


def test_without_a_half_close_a_connection_closes() -> None:
    assert end_as(CloseManner.HALF_CLOSE, WithoutHalfClose()) is False
