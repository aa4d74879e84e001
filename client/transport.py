"""Blocking sockets: one connection per broker, opened with the first request."""

import ssl
from types import TracebackType
from typing import TypeVar, cast

from client.blocking_connection import BlockingConnection
from client.errors import ConnectionLostError, SecurityError
from client.resources import Address
from client.security import Security, TlsSettings
from protocol import messages

REQUEST_TIMEOUT_MS = 30_000

ResponseT = TypeVar("ResponseT", bound="messages.Message")


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
        self._connections: dict[Address, BlockingConnection] = {}

    def __enter__(self) -> "SocketTransport":
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def ask(self, address: Address, request: "messages.Request[ResponseT]") -> ResponseT:
        """See `admin.Transport.ask`."""
        connection = self._connections.get(address)
        if connection is None:
            connection = self._open(address)
            self._connections[address] = connection
        try:
            response = connection.exchange(connection.codec.request(request))
        except ConnectionLostError:
            self._connections.pop(address).close()
            raise
        return cast("ResponseT", response)

    def close(self) -> None:
        """Close every connection."""
        while self._connections:
            self._connections.popitem()[1].close()

    def _open(self, address: Address) -> BlockingConnection:
        return BlockingConnection.open(
            address,
            self._client_id,
            tls=self._tls,
            sasl=self._security.sasl,
            timeout_s=self._request_timeout_s,
        )


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
