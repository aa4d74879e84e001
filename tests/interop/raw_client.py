"""A client that is only a socket: for requests that no well-behaved library sends."""

import struct
from types import TracebackType
from typing import Any

from client.addresses import address_of
from client.blocking_connection import BlockingConnection
from protocol import messages
from protocol.api_keys import ApiKey

TIMEOUT_S = 20


class RawClient:
    """One connection; requests go out as they are, answers come back as frames or messages."""

    def __init__(self, address: str) -> None:
        self._connection = BlockingConnection(address_of(address), "raw", timeout_s=TIMEOUT_S)
        self._correlation_id = 0

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()

    def send_body(self, api_key: int, version: int, body: bytes, *, is_flexible: bool) -> int:
        """Send a request; returns its correlation id."""
        self._correlation_id += 1
        header = struct.pack(">hhih", api_key, version, self._correlation_id, 3) + b"raw"
        frame = header + (b"\x00" if is_flexible else b"") + body
        self._connection.send(struct.pack(">i", len(frame)) + frame)
        return self._correlation_id

    def send(self, request: Any, api_key: ApiKey, version: int) -> int:
        """Send a message of kafka-python's; returns its correlation id."""
        body = bytes(request.encode(version=version))
        flexible = messages.is_flexible(api_key, version)
        return self.send_body(api_key, version, body, is_flexible=flexible)

    def receive_frame(self) -> tuple[int, bytes]:
        """The next response: correlation id and what follows it."""
        frame = self._connection.receive_frame()
        _, correlation_id = struct.unpack_from(">ii", frame)
        return correlation_id, frame[8:]

    def receive(self, response_class: Any, api_key: ApiKey, version: int) -> tuple[int, Any]:
        """The next answer as a message."""
        correlation_id, rest = self.receive_frame()
        if messages.is_flexible(api_key, version) and api_key != ApiKey.API_VERSIONS:
            assert rest[0] == 0, "tagged fields in a response header break some clients"
            rest = rest[1:]
        return correlation_id, response_class.decode(rest, version=version)

    def ask(self, request: Any, response_class: Any, api_key: ApiKey, version: int) -> Any:
        """Send and receive."""
        sent = self.send(request, api_key, version)
        correlation_id, response = self.receive(response_class, api_key, version)
        assert correlation_id == sent
        return response

    def is_closed_by_peer(self) -> bool:
        """Wait for the end of the stream; False when a response comes instead."""
        try:
            return self._connection.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def call(self, request: Any, version: int) -> Any:
        """Send a message of kafka-python's; return the response."""
        api_key = ApiKey(request.API_KEY)
        self.send(request, api_key, version)
        return self.receive(messages.response_class(api_key), api_key, version)[1]
