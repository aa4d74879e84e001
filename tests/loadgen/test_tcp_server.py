"""A server runs from the beginning of a block to its end."""

import socket

import pytest

from loadgen.tcp_server import TcpServer


class Greeter(TcpServer):
    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"hello")


def test_it_serves_until_the_end_of_the_block() -> None:
    with Greeter("greeter", "127.0.0.1") as server:
        address = server.address
        for _ in range(2):
            with socket.create_connection(address) as connection:
                assert connection.recv(5) == b"hello"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    assert not server._thread.is_alive()
