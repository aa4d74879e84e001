"""A client that authenticates with SASL, without a socket."""

from typing import Any

from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.request.session import Session
from protocol import messages
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.connection_driver import Client, metadata_frame, request_frame

USERS = {"sasl.users": "alice:secret,bob:hidden"}


class SaslClient(Client):
    """A client of a SASL listener; responses are read from the written bytes."""

    def __init__(self, **overrides: str) -> None:
        super().__init__(make_cluster(1, **USERS, **overrides))
        self.session = Session("SASL_PLAINTEXT", is_sasl=True)
        self.connection = Connection(
            Dispatcher(self.cluster, self._report_bug),
            broker_id=1,
            connection_id=1,
            client_host="127.0.0.1",
            frame_bytes_max=100_000,
            on_ready=self._on_ready,
            session=self.session,
        )

    def take(self) -> bytes:
        """Return the next response without its size."""
        size = int.from_bytes(self.written[:4], "big")
        frame, self.written = self.written[4 : 4 + size], self.written[4 + size :]
        return frame

    def handshake(self, mechanism: str, version: int = 1, now_ms: int = NOW_MS) -> Any:
        request = messages.SaslHandshakeRequest(version=version, mechanism=mechanism)
        self.send(request_frame(request, version, 1), now_ms)
        return messages.SaslHandshakeResponse.decode(self.take()[4:], version=version)

    def authenticate(self, token: bytes, version: int = 1, now_ms: int = NOW_MS) -> Any:
        request = messages.SaslAuthenticateRequest(version=version, auth_bytes=token)
        self.send(request_frame(request, version, 2), now_ms)
        return self.take_authenticated(version)

    def take_authenticated(self, version: int = 1) -> Any:
        frame = self.take()
        if not frame:
            return None
        body = frame[5:] if version >= 2 else frame[4:]
        return messages.SaslAuthenticateResponse.decode(body, version=version)

    def expects_response(self, now_ms: int = NOW_MS) -> bool:
        self.send(metadata_frame(9), now_ms)
        return self.take() != b""
