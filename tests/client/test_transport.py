"""Blocking sockets with a scripted broker in a thread: responses and failures."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from client.errors import ConnectionLostError, SecurityError, UnreachableError
from client.resources import Address
from client.security import SaslSettings, Security, TlsSettings
from client.transport import SocketTransport
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_header, decode_request, frame_response, skip_tagged_fields
from protocol.framing import FrameReader

Response = Callable[[ApiKey, Any], Any]
ASK = messages.MetadataRequest(topics=[])


def api_versions() -> Any:
    response = messages.ApiVersionsResponse
    keys = (ApiKey.METADATA, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
    return response(
        api_keys=[response.ApiVersion(api_key=key, min_version=0, max_version=1) for key in keys]
    )


def serve_one(connection: socket.socket, result: Response) -> None:
    """Send the scripted responses (None: close; bytes: sent unchanged)."""
    reader = FrameReader(1_000_000)
    while data := connection.recv(4096):
        reader.feed(data)
        while (frame := reader.next_frame()) is not None:
            buffer, start, end = frame
            header = decode_header(buffer, start, end)
            api_key, version = ApiKey(header.api_key), header.api_version
            start = header.end
            if messages.is_flexible(api_key, version):
                start = skip_tagged_fields(buffer, start, end)
            request = decode_request(api_key, version, buffer, start, end)
            response = result(api_key, request)
            if response is None:
                return
            if not isinstance(response, bytes):
                body = bytes(response.encode(version=version))
                response = frame_response(header.correlation_id, body, has_tagged_header=False)
            connection.sendall(response)


@contextmanager
def peer(response: Response) -> Iterator[Address]:
    """Serve one connection after the other, and yield the address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                serve_one(connection, response)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield Address(*listener.getsockname())
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def test_one_connection_requests_versions_once_and_serves_all_requests() -> None:
    requested: list[ApiKey] = []

    def response(api_key: ApiKey, _request: Any) -> Any:
        requested.append(api_key)
        if api_key == ApiKey.API_VERSIONS:
            return api_versions()
        return messages.MetadataResponse(controller_id=len(requested))

    with peer(response) as address, SocketTransport("me") as transport:
        assert transport.ask(address, ASK).controller_id == 2
        assert transport.ask(address, ASK).controller_id == 3
    assert requested == [ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.METADATA]


def test_a_closed_port_is_unreachable_with_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = Address(*unused.getsockname())
    with SocketTransport("me") as transport, pytest.raises(UnreachableError, match=r"127\.0\.0\.1"):
        transport.ask(address, ASK)


@pytest.mark.parametrize(
    "response", [None, b"\x00\x00\x00\x08\x00\x00\x00\x63aaaa", b""], ids=["end", "junk", "silence"]
)
def test_after_a_lost_connection_the_next_request_opens_another(
    response: bytes | None,
) -> None:
    broken = iter([response])

    def result(api_key: ApiKey, _request: Any) -> Any:
        if api_key == ApiKey.API_VERSIONS:
            return api_versions()
        return next(broken, messages.MetadataResponse(controller_id=7))

    with peer(result) as address, SocketTransport("me", request_timeout_ms=300) as transport:
        with pytest.raises(ConnectionLostError):
            transport.ask(address, ASK)
        assert transport.ask(address, ASK).controller_id == 7


@pytest.mark.parametrize(
    ("handshake_error", "error", "text"),
    [(33, 0, "SCRAM-SHA-256"), (0, 58, "wrong password"), (0, 0, None)],
)
def test_sasl_precedes_the_first_request(
    handshake_error: int, error: int, text: str | None
) -> None:
    tokens: list[bytes] = []

    def response(api_key: ApiKey, request: Any) -> Any:
        if api_key == ApiKey.API_VERSIONS:
            return api_versions()
        if api_key == ApiKey.SASL_HANDSHAKE:
            assert request.mechanism == "PLAIN"
            return messages.SaslHandshakeResponse(
                error_code=handshake_error, mechanisms=["SCRAM-SHA-256"]
            )
        if api_key == ApiKey.SASL_AUTHENTICATE:
            tokens.append(bytes(request.auth_bytes))
            return messages.SaslAuthenticateResponse(
                error_code=error, error_message=text, auth_bytes=b""
            )
        return messages.MetadataResponse(controller_id=1)

    security = Security(sasl=SaslSettings("PLAIN", "alice", "secret"))
    with peer(response) as address, SocketTransport("me", security) as transport:
        if text is None:
            assert transport.ask(address, ASK).controller_id == 1
        else:
            with pytest.raises(SecurityError, match=text):
                transport.ask(address, ASK)
    assert tokens == ([] if handshake_error else [b"\0alice\0secret"])


def test_a_peer_without_tls_is_a_security_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address(*listener.getsockname())

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        with (
            SocketTransport("me", Security(TlsSettings())) as transport,
            pytest.raises(SecurityError, match="TLS"),
        ):
            transport.ask(address, ASK)
        thread.join(5)


def test_a_missing_pem_file_is_an_error_before_a_connection_is_opened(tmp_path: Path) -> None:
    with pytest.raises(SecurityError, match="PEM"):
        SocketTransport("me", Security(TlsSettings(ca_path=str(tmp_path / "none.pem"))))
