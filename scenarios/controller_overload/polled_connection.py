"""A connection whose responses are polled for, so that the clock can be moved while it waits."""

import socket
from typing import Any

from client.addresses import address_of
from client.errors import ConnectionLostError
from client.handshake import handshake
from client.protocol_codec import ProtocolCodec

_TIMEOUT_S = 30.0
_READ_BYTES = 1 << 20


class PolledConnection:
    """One plaintext connection to a broker, with at most one request in flight."""

    def __init__(self, server: str, client_id: str) -> None:
        """Connect to `HOST:PORT` and learn its API versions.

        Raises:
            OSError: nobody listens there.
            client.errors.ClientError: it speaks another protocol.
        """
        self.is_busy = False
        self._wire = ProtocolCodec(client_id)
        self._socket = socket.create_connection(address_of(server), timeout=_TIMEOUT_S)
        steps = handshake(self._wire, None)
        frame = next(steps)
        try:
            while True:
                self._socket.sendall(frame)
                while (response := self._wire.next_response()) is None:
                    self._receive()
                frame = steps.send(response)
        except StopIteration:
            return

    def send(self, request: Any) -> None:
        """Send a request in the highest version that both sides know."""
        self.is_busy = True
        self._socket.settimeout(_TIMEOUT_S)
        self._socket.sendall(self._wire.request(request))

    def poll(self) -> Any | None:
        """Return the response if it is there; never wait for it.

        Raises:
            client.errors.ConnectionLostError: the broker closed the connection.
        """
        self._socket.setblocking(False)
        try:
            while (response := self._wire.next_response()) is None:
                self._receive()
        except BlockingIOError:
            return None
        self.is_busy = False
        return response

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _receive(self) -> None:
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise ConnectionLostError("the broker closed the connection")
        self._wire.feed(data)
