"""One connection of a blocking client: a socket and its codec."""

import socket
import ssl
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from client.errors import ConnectionLostError, SecurityError, UnreachableError
from client.handshake import Handshake
from client.protocol_codec import ProtocolCodec
from client.resources import Address
from client.security import SaslSettings
from protocol import messages

TIMEOUT_S = 30.0
_READ_BYTES = 64 * 1024

T = TypeVar("T")


class BlockingConnection:
    """A TCP or TLS connection; `open` does the handshake too.

    `socket` is public for callers that read and write themselves. As a context manager it closes
    itself.
    """

    def __init__(
        self,
        address: Address,
        client_id: str,
        *,
        tls: ssl.SSLContext | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Connect, but send nothing to the broker; `timeout_s` limits each system call.

        Raises:
            UnreachableError: no connection could be opened.
            SecurityError: TLS failed.
        """
        self.codec = ProtocolCodec(client_id)
        try:
            self.socket = socket.create_connection(address, timeout=timeout_s)
            try:
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError:  # the broker has closed it already
                self.close()
                raise
        except OSError as error:
            raise UnreachableError(
                f"cannot connect to {address}: {error.strerror or error}"
            ) from error
        if tls is not None:
            try:
                self.socket = tls.wrap_socket(self.socket, server_hostname=address.host)
            except OSError as error:  # ssl.SSLError is one; so is a closed connection
                self.close()
                raise SecurityError(f"no TLS with {address.host}: {error}") from error

    @classmethod
    def open(
        cls,
        address: Address,
        client_id: str,
        *,
        tls: ssl.SSLContext | None = None,
        sasl: SaslSettings | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Self:
        """Connect and do the handshake.

        Raises:
            UnreachableError: no connection could be opened.
            SecurityError: TLS or authentication failed.
            ConnectionLostError: the connection broke.
            UnsupportedVersionError: there is no common version.
        """
        connection = cls(address, client_id, tls=tls, timeout_s=timeout_s)
        try:
            connection._handshake(sasl)
        except ConnectionLostError as error:
            connection.close()
            place = str(address)
            if isinstance(error.__cause__, TimeoutError):
                raise ConnectionLostError(
                    f"{place} accepts connections and does not respond within {timeout_s:g} s:"
                    " is it a Kafka broker, with this security.protocol?"
                ) from error
            raise ConnectionLostError(f"{place}: {error}") from error
        except BaseException:
            connection.close()
            raise
        return connection

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def exchange(self, frame: bytes) -> "messages.Message":
        """Send a frame of `codec` and wait for the response.

        Raises:
            ConnectionLostError: the connection broke or timed out; close it.
        """
        self.send(frame)
        return self._wait_for(self.codec.next_response)

    def send(self, frame: bytes) -> None:
        """Send bytes.

        Raises:
            ConnectionLostError: the connection broke or timed out; close it.
        """
        try:
            self.socket.sendall(frame)
        except OSError as error:
            raise _lost(error) from error

    def receive_frame(self) -> bytes:
        """Wait for the response to a frame that `codec` did not make; return it with its size.

        Raises:
            ConnectionLostError: the connection broke or timed out; close it.
        """
        return self._wait_for(self.codec.next_frame)

    def poll(self) -> "messages.Message | None":
        """Return the next response if it has arrived, else None, without waiting.

        Raises:
            ConnectionLostError: the connection broke; close it.
        """
        timeout_s = self.socket.gettimeout()
        self.socket.settimeout(0)
        try:
            return self._read_until(self.codec.next_response)
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except OSError as error:
            raise _lost(error) from error
        finally:
            self.socket.settimeout(timeout_s)

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def _handshake(self, settings: SaslSettings | None) -> None:
        handshake = Handshake(self.codec, settings)
        frame: bytes | None = handshake.first_frame()
        while frame is not None:
            frame = handshake.next_frame(self.exchange(frame))

    def _wait_for(self, next_found: Callable[[], T | None]) -> T:
        try:
            return self._read_until(next_found)
        except OSError as error:
            raise _lost(error) from error

    def _read_until(self, next_found: Callable[[], T | None]) -> T:
        while (found := next_found()) is None:
            data = self.socket.recv(_READ_BYTES)
            if not data:
                raise ConnectionLostError("the broker closed the connection")
            self.codec.feed(data)
        return found


def _lost(error: OSError) -> ConnectionLostError:
    return ConnectionLostError(f"lost the connection: {error.strerror or error}")
