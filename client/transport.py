"""Blocking sockets: one connection per broker, opened with the first request."""

import socket
import ssl
from types import TracebackType
from typing import Any

from client.errors import ConnectionLostError, SecurityError, UnreachableError
from client.handshake import handshake
from client.protocol_codec import ProtocolCodec
from client.resources import Address
from client.security import SaslSettings, Security, TlsSettings

REQUEST_TIMEOUT_MS = 30_000
_READ_BYTES = 64 * 1024


class SocketTransport:
    """`admin.Transport` over TCP, TLS and SASL. A context manager that closes its connections."""

    def __init__(
        self,
        client_id: str,
        security: Security | None = None,
        request_timeout_ms: int = REQUEST_TIMEOUT_MS,
    ) -> None:
        """Create the transport; it opens connections with the first request.

        Raises:
            SecurityError: a PEM file can't be read.
        """
        self._client_id = client_id
        self._security = security or Security()
        self._tls = tls_context(self._security.tls) if self._security.tls else None
        self._request_timeout_s = request_timeout_ms / 1000
        self._connections: dict[Address, _Connection] = {}

    def __enter__(self) -> "SocketTransport":
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def ask(self, address: Address, request: Any) -> Any:
        """See `admin.Transport.ask`."""
        connection = self._connections.get(address)
        if connection is None:
            connection = self._open(address)
            self._connections[address] = connection
        try:
            return connection.exchange(connection.codec.request(request))
        except ConnectionLostError:
            self._connections.pop(address).close()
            raise

    def close(self) -> None:
        """Close every connection."""
        while self._connections:
            self._connections.popitem()[1].close()

    def _open(self, address: Address) -> "_Connection":
        try:
            opened = socket.create_connection(address, timeout=self._request_timeout_s)
        except OSError as error:
            raise UnreachableError(
                f"cannot connect to {address.host}:{address.port}: {error.strerror or error}"
            ) from error
        connection = _Connection(opened, ProtocolCodec(self._client_id))
        try:
            if self._tls is not None:
                connection.start_tls(self._tls, address.host)
            connection.open(self._security.sasl)
        except BaseException:
            connection.close()
            raise
        return connection


class _Connection:
    """A blocking connection: a socket with its `ProtocolCodec`."""

    def __init__(self, opened: socket.socket, codec: ProtocolCodec) -> None:
        self._socket = opened
        self.codec = codec

    def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        try:
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
        except OSError as error:  # ssl.SSLError is one; so is a closed connection
            raise SecurityError(f"no TLS with {host}: {error}") from error

    def open(self, settings: SaslSettings | None) -> None:
        """Send the requests of `handshake`."""
        steps = handshake(self.codec, settings)
        try:
            frame = next(steps)
            while True:
                frame = steps.send(self.exchange(frame))
        except StopIteration:
            return

    def exchange(self, frame: bytes) -> Any:
        """Send a frame and wait for the response."""
        try:
            self._socket.sendall(frame)
            while (response := self.codec.next_response()) is None:
                data = self._socket.recv(_READ_BYTES)
                if not data:
                    raise ConnectionLostError("the broker closed the connection")
                self.codec.feed(data)
        except OSError as error:
            raise ConnectionLostError(f"lost the connection: {error.strerror or error}") from error
        return response

    def close(self) -> None:
        self._socket.close()


def tls_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return an SSL context with these settings.

    Raises:
        SecurityError: a PEM file can't be read.
    """
    try:
        context = ssl.create_default_context(cafile=settings.ca_path)
        context.check_hostname = settings.is_hostname_checked
        if settings.certificate_path is not None:
            context.load_cert_chain(
                settings.certificate_path, settings.key_path, settings.key_password
            )
    except OSError as error:
        raise SecurityError(f"cannot read the PEM files: {error}") from error
    return context
