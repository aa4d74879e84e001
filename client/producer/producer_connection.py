"""One connection of the asyncio producer: the core's requests as frames, and responses back."""

import asyncio
import ssl
from collections import deque
from typing import Protocol

from client.broker_connection import BrokerConnection
from client.errors import ClientError, UnsupportedVersionError
from client.producer.actions import Request, RequestFailed, Response
from client.producer.messages import expects_response, request_message
from client.protocol_codec import FinalizedFeatures
from client.resources import Address
from client.security import Security
from protocol import messages
from protocol.api_keys import ApiKey


class Watcher(Protocol):
    """Observes a producer's requests; called by the producer, and must not raise."""

    def sent(self, node_id: int, request: Request, version: int, request_bytes: int) -> None:
        """A request was sent to a broker, after all earlier ones."""

    def responded(self, node_id: int, request: Request, response: Response) -> None:
        """The oldest request got its response; called before the producer handles it."""

    def lost(self, node_id: int) -> None:
        """The connection is lost, and the responses to all requests on it."""


class ConnectionOwner(Protocol):
    """The producer, as its connections call it."""

    def on_open(self, node_id: int) -> None:
        """The connection is open: versions are known, authentication is done."""

    def on_response(self, node_id: int, request: Request, response: "messages.Message") -> None:
        """The oldest request got this decoded response."""

    def on_request_failed(self, node_id: int, failed: RequestFailed) -> None:
        """A request could not be sent to this broker."""

    def on_lost(self, node_id: int, error: ClientError) -> None:
        """The connection broke, or could not be opened."""


class ProducerConnection:
    """A broker connection and the core's requests in flight on it, oldest first."""

    def __init__(
        self,
        owner: ConnectionOwner,
        node_id: int,
        client_id: str,
        security: Security,
        watcher: Watcher | None,
    ) -> None:
        self._owner = owner
        self._watcher = watcher
        self._node_id = node_id
        self._requests: deque[Request | RequestFailed] = deque()
        self._connecting: asyncio.Task[None] | None = None
        self._connection = BrokerConnection(
            client_id,
            security.sasl,
            on_open=lambda: owner.on_open(node_id),
            on_response=self._on_response,
            on_lost=lambda error: owner.on_lost(node_id, error),
        )

    def connect(self, address: Address, tls: ssl.SSLContext | None) -> asyncio.Task[None]:
        """Begin to open the connection; `on_open` or `on_lost` of the owner follows."""
        self._connecting = asyncio.create_task(self._connection.connect(address, tls))
        return self._connecting

    def abort(self) -> None:
        """Close the connection without calling `on_lost`."""
        self._connection.abort()
        if self._connecting is not None:
            self._connecting.cancel()

    @property
    def features(self) -> FinalizedFeatures:
        """The cluster's features, as the broker announced them."""
        return self._connection.codec.features

    def send(self, request: Request) -> None:
        """Send a request after all earlier ones."""
        message, version_max = request_message(request)
        has_response = expects_response(request)
        try:
            frame = self._connection.codec.request(
                message, version_max=version_max, expects_response=has_response
            )
        except UnsupportedVersionError as error:
            self._requests.append(RequestFailed(error))
            asyncio.get_running_loop().call_soon(self._report_failures)
            return
        if has_response:
            self._requests.append(request)
        self._connection.write(frame)
        if self._watcher is not None:
            version = self._connection.codec.version_of(ApiKey(message.API_KEY))
            if version_max is not None:
                version = min(version, version_max)
            self._watcher.sent(self._node_id, request, version, len(frame))

    def _on_response(self, response: "messages.Message") -> None:
        request = self._requests.popleft()
        assert not isinstance(request, RequestFailed), (
            "a failed request is reported when it is the oldest"
        )
        self._owner.on_response(self._node_id, request, response)
        self._report_failures()

    def _report_failures(self) -> None:
        while self._requests and isinstance(self._requests[0], RequestFailed):
            failed = self._requests.popleft()
            assert isinstance(failed, RequestFailed)
            self._owner.on_request_failed(self._node_id, failed)
