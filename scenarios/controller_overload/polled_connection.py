"""A connection whose responses are polled for, so that the clock can be moved while it waits."""

from client.addresses import address_of
from client.blocking_connection import BlockingConnection
from protocol import messages


class PolledConnection:
    """One plaintext connection to a broker, with at most one request in flight."""

    def __init__(self, server: str, client_id: str) -> None:
        """Connect to `HOST:PORT` and learn its API versions.

        Raises:
            client.errors.ClientError: nobody listens there, or it speaks another protocol.
        """
        self.is_busy = False
        self._connection = BlockingConnection.open(address_of(server), client_id)

    def send(self, request: "messages.Request[messages.Message]") -> None:
        """Send a request in the highest version that both sides know."""
        self.is_busy = True
        self._connection.send(self._connection.codec.request(request))

    def poll(self) -> "messages.Message | None":
        """Return the response if it is there; never wait for it.

        Raises:
            client.errors.ConnectionLostError: the broker closed the connection.
        """
        response = self._connection.poll()
        self.is_busy = response is None
        return response

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
