"""Frames, polls and failures; requests, handshake and TLS are in test_transport."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from client.blocking_connection import BlockingConnection
from client.errors import ConnectionLostError, UnreachableError
from client.resources import Address
from protocol import messages
from protocol.codec import frame_response


@contextmanager
def accepted(timeout_s: float = 10) -> Iterator[tuple[BlockingConnection, socket.socket]]:
    """A connection that has sent nothing, and the socket of its peer."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        BlockingConnection(
            Address(*listener.getsockname()), "me", timeout_s=timeout_s
        ) as connection,
    ):
        peer, _ = listener.accept()
        with peer:
            yield connection, peer


def api_versions_response() -> bytes:
    body = bytes(messages.ApiVersionsResponse(error_code=0, api_keys=[]).encode(version=4))
    return frame_response(1, body, has_tagged_header=False)


def test_frames_are_received_with_their_size_however_the_bytes_come() -> None:
    with accepted() as (connection, peer):
        connection.send(b"anything")
        assert peer.recv(100) == b"anything"
        peer.sendall(b"\0\0\0\1a\0\0\0\2b")
        assert connection.receive_frame() == b"\0\0\0\1a"
        peer.sendall(b"c")
        assert connection.receive_frame() == b"\0\0\0\2bc"


def test_polling_never_waits_and_changes_no_timeout() -> None:
    with accepted(timeout_s=5) as (connection, peer):
        connection.send(connection.codec.api_versions_request())
        response = api_versions_response()
        assert connection.poll() is None
        peer.sendall(response[:7])
        assert connection.poll() is None
        assert connection.socket.gettimeout() == 5
        peer.sendall(response[7:])
        found = None
        while found is None:
            found = connection.poll()
        assert isinstance(found, messages.ApiVersionsResponse)
        assert found.error_code == 0


def poll_until_lost(connection: BlockingConnection) -> None:
    while connection.poll() is None:
        pass


def test_a_peer_that_closes_is_an_error_for_each_way_to_read() -> None:
    with accepted() as (connection, peer):
        connection.send(connection.codec.api_versions_request())
        peer.recv(1000)
        peer.close()
        with pytest.raises(ConnectionLostError, match="closed"):
            connection.receive_frame()
        with pytest.raises(ConnectionLostError, match="closed"):
            poll_until_lost(connection)


def test_silence_is_an_error_after_the_timeout() -> None:
    with (
        accepted(timeout_s=0.02) as (connection, _peer),
        pytest.raises(ConnectionLostError, match="timed out"),
    ):
        connection.exchange(connection.codec.api_versions_request())


def test_an_invalid_size_is_an_error() -> None:
    with accepted() as (connection, peer):
        peer.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(ConnectionLostError, match="negative size"):
            connection.receive_frame()


def test_a_port_without_a_listener_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = Address(*unused.getsockname())
    with pytest.raises(UnreachableError, match=f"127.0.0.1:{address.port}"):
        BlockingConnection(address, "me")


def test_a_handshake_that_fails_closes_the_socket() -> None:
    ended: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        with peer:
            while data := peer.recv(1000):
                peer.sendall(b"\xff\xff\xff\xff")
            ended.append(data)

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        with pytest.raises(ConnectionLostError):
            BlockingConnection.open(Address(*listener.getsockname()), "me")
        thread.join(10)
    assert ended == [b""]
