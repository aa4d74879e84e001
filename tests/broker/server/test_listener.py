"""A listener stops and starts on its port, which stays reserved."""

import asyncio
import errno
import socket

import pytest

from broker.server import listener as listener_module
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


def families(sockets: list[socket.socket]) -> set[socket.AddressFamily]:
    return {bound.family for bound in sockets}


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_all_addresses_of_a_host_have_one_port() -> None:
    for host in ("::", ""):
        sockets = listening_sockets(host, 0)
        assert families(sockets) == {socket.AF_INET, socket.AF_INET6}
        assert len({bound.getsockname()[1] for bound in sockets}) == 1
        for bound in sockets:
            bound.close()


def test_a_port_in_use_at_the_second_address_is_chosen_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = (
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0))
        for host in ("127.0.0.1", "127.0.0.2")
    )
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_named: [first, second])
    bind = listener_module._bind
    taken: list[int] = []

    def bind_late(family: socket.AddressFamily, address: tuple[str, int]) -> socket.socket:
        if address[0] == "127.0.0.2" and not taken:
            taken.append(address[1])
            raise OSError(errno.EADDRINUSE, "in use")
        return bind(family, address)

    monkeypatch.setattr(listener_module, "_bind", bind_late)
    sockets = listening_sockets("two", 0)
    assert len({bound.getsockname()[1] for bound in sockets}) == 1
    assert taken
    for bound in sockets:
        bound.close()


def test_an_address_that_this_machine_lacks_is_left_out_if_there_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, missing = (
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0))
        for host in ("127.0.0.1", "203.0.113.1")
    )
    for found in [missing, here], [here, missing]:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, found=found, **_n: found)
        [bound] = listening_sockets("some", 0)
        assert bound.getsockname()[0] == "127.0.0.1"
        bound.close()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_named: [missing])
    with pytest.raises(OSError, match="assign"):
        listening_sockets("none", 0)
