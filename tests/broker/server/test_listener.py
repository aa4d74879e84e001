"""A listener stops and starts on its port, which stays reserved."""

import asyncio
import socket

import pytest

from broker.server.listener import Listener, ListenError, listening_sockets


class Greeter(asyncio.Protocol):
    """Sends a greeting and closes the connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(b"hello")
        transport.close()


async def greeting(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_a_listener_refuses_and_accepts_again_on_its_port() -> None:
    listener = Listener(1, Greeter, None)
    port = await listener.open("127.0.0.1", 0)
    assert await greeting(port) == b"hello"
    for _ in range(3):
        listener.refuse()
        listener.refuse()
        with pytest.raises(ConnectionRefusedError):
            await greeting(port)
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        listener.accept_again()
        listener.accept_again()
        assert await greeting(port) == b"hello"
    await listener.close()
    with pytest.raises(ConnectionRefusedError):
        await greeting(port)


async def test_with_concurrent_refuse_and_accept_again_the_last_call_wins() -> None:
    listener = Listener(1, Greeter, None)
    port = await listener.open("127.0.0.1", 0)
    listener.refuse()
    listener.accept_again()
    listener.refuse()
    opening = listener._opening
    assert opening is not None
    await opening
    with pytest.raises(ConnectionRefusedError):
        await greeting(port)
    listener.accept_again()
    await listener.close()


async def test_end_wins_over_a_start_in_progress() -> None:
    listener = Listener(1, Greeter, None)
    port = await listener.open("127.0.0.1", 0)
    listener.refuse()
    listener.accept_again()
    opening = listener._opening
    assert opening is not None
    listener.end()
    await opening
    with pytest.raises(ConnectionRefusedError):
        await greeting(port)
    with socket.create_server(("127.0.0.1", port)):
        pass


async def test_the_error_for_a_port_in_use_names_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=rf"cannot listen on 127\.0\.0\.1:{port}: .*in use"):
            await Listener(1, Greeter, None).open("127.0.0.1", port)


async def test_a_connection_before_the_server_starts_is_served_later() -> None:
    (admin_socket,) = listening_sockets("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*admin_socket.getsockname())

    def greet(_reader: object, served: asyncio.StreamWriter) -> None:
        served.write(b"come in")
        served.close()

    server = await asyncio.start_server(greet, sock=admin_socket)
    assert await reader.read() == b"come in"
    writer.close()
    server.close()


def test_a_host_of_two_addresses_has_two_sockets_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0))
        for host in ("127.0.0.1", "127.0.0.2")
    )
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_named: [first, second, first])
    sockets = listening_sockets("both", 0)
    assert [bound.getsockname()[0] for bound in sockets] == ["127.0.0.1", "127.0.0.2"]

    taken = (*second[:4], sockets[1].getsockname())
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_named: [first, taken])
    with pytest.raises(OSError, match="in use"):
        listening_sockets("both", 0)
    for bound in sockets:
        bound.close()
