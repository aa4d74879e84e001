"""`BrokerConnection` with a fake transport."""

import asyncio
from typing import Any

from client.broker_connection import BrokerConnection
from client.errors import ClientError, ConnectionLostError, SecurityError, UnreachableError
from client.resources import Address
from client.security import SaslSettings
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import frame_response


class Transport(asyncio.Transport):
    """A transport that records what was written, and whether it was aborted."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[Any] = []
        self.is_aborted = False
        self.protocol: asyncio.BaseProtocol | None = None

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def write(self, data: Any) -> None:
        self.written.append(data)

    def abort(self) -> None:
        self.is_aborted = True


class Heard:
    """A connection, and the events that it reported."""

    def __init__(self, sasl: SaslSettings | None = None) -> None:
        self.events: list[Any] = []
        self.connection = BrokerConnection(
            "me",
            sasl,
            on_open=lambda: self.events.append("open"),
            on_response=self.events.append,
            on_lost=self.events.append,
        )
        self.transport = Transport()

    def begin(self) -> None:
        self.connection.connection_made(self.transport)

    def response(self, correlation_id: int, response: Any, version: int) -> None:
        body = bytes(response.encode(version=version))
        self.connection.data_received(frame_response(correlation_id, body, has_tagged_header=False))

    def open(self) -> None:
        self.begin()
        response = messages.ApiVersionsResponse
        keys = [response.ApiVersion(api_key=ApiKey.METADATA, min_version=0, max_version=1)]
        self.response(1, response(error_code=0, api_keys=keys), 4)


def test_a_connection_is_open_after_api_versions() -> None:
    heard = Heard()
    heard.begin()
    assert len(heard.transport.written) == 1
    assert heard.events == []
    heard = Heard()
    heard.open()
    assert heard.events == ["open"]


def test_each_response_is_reported_separately() -> None:
    heard = Heard()
    heard.open()
    for _ in range(2):
        heard.connection.write(heard.connection.codec.request(messages.MetadataRequest(topics=[])))
    for correlation_id in (2, 3):
        heard.response(correlation_id, messages.MetadataResponse(), 1)
    assert [type(event) for event in heard.events[1:]] == [messages.MetadataResponse] * 2


def test_a_connection_that_the_broker_closes_is_reported_once() -> None:
    heard = Heard()
    heard.open()
    heard.connection.connection_lost(None)
    heard.connection.connection_lost(ConnectionResetError())
    assert [type(event) for event in heard.events[1:]] == [ConnectionLostError]


def test_an_invalid_response_closes_the_connection() -> None:
    heard = Heard()
    heard.open()
    heard.connection.data_received(b"\xff\xff\xff\xff")
    assert isinstance(heard.events[-1], ConnectionLostError)
    assert heard.transport.is_aborted


def test_after_abort_nothing_is_reported() -> None:
    heard = Heard()
    heard.open()
    heard.connection.abort()
    heard.response(2, messages.MetadataResponse(), 1)
    heard.connection.connection_lost(None)
    assert heard.events == ["open"]
    heard = Heard()
    heard.connection.abort()
    heard.begin()
    assert heard.transport.is_aborted
    assert heard.transport.written == []


def test_a_broker_without_sasl_is_refused() -> None:
    heard = Heard(SaslSettings("PLAIN", "alice", "secret"))
    heard.open()
    assert isinstance(heard.events[-1], ClientError)
    assert heard.transport.is_aborted


async def test_a_refused_connection_is_reported_as_lost() -> None:
    heard = Heard()
    await heard.connection.connect(Address("127.0.0.1", 1), None)
    (error,) = heard.events
    assert isinstance(error, UnreachableError)
    assert not isinstance(error, SecurityError)
    assert "127.0.0.1:1" in str(error)


def test_another_protocol_can_take_over_the_transport() -> None:
    class Other(asyncio.Protocol):
        transport: asyncio.BaseTransport | None = None

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport

    heard, other = Heard(), Other()
    heard.open()
    heard.connection.hand_over(other)
    assert heard.transport.protocol is other
    assert other.transport is heard.transport
