"""A connection of the load: handshake, requests, Produce frames, and its end."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import cast

import pytest

from client.addresses import addresses_of
from client.errors import ConnectionLostError, SecurityError, UnreachableError
from client.resources import Address
from client.security import SaslSettings, Security
from loadgen.clients.connection_settings import ConnectionSettings
from loadgen.clients.load_connection import LoadConnection, ResponseQueue, open_connection
from mock_kafka import MockKafka
from protocol import messages

SETTINGS = ConnectionSettings("test")
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def server_that(talk: Talk) -> AsyncIterator[Address]:
    talks: list[asyncio.Event] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        over = asyncio.Event()
        talks.append(over)
        with contextlib.suppress(ConnectionError):
            await talk(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        over.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield Address(*server.sockets[0].getsockname()[:2])
    finally:
        server.close()
        for over in talks:
            await over.wait()


def raw_connection(address: Address) -> "Awaitable[LoadConnection]":
    async def connect() -> LoadConnection:
        connection = LoadConnection("test")
        await asyncio.get_running_loop().create_connection(lambda: connection, *address)
        return connection

    return connect()


async def test_a_request_gets_its_response(servers: str) -> None:
    connection = await open_connection(addresses_of(servers)[0], SETTINGS)
    request = messages.MetadataRequest(topics=[], allow_auto_topic_creation=False)
    response = await connection.send_request(request, 10)
    connection.abort()
    assert len(response.brokers) == 2


async def test_the_error_of_an_unreachable_broker_has_its_address() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = Address(*taken.getsockname())
        with pytest.raises(UnreachableError, match=f"cannot connect to 127.0.0.1:{address.port}"):
            await open_connection(address, SETTINGS)


async def test_wrong_credentials_are_refused() -> None:
    config: dict[str, str | int] = {
        "listeners": "SASL_PLAINTEXT://:0",
        "sasl.users": "a:b",
        "connection.failed.authentication.delay.ms": 0,
    }
    with MockKafka(config=config) as kafka:
        [address] = addresses_of(kafka.bootstrap_servers)
        for mechanism, expected in (("PLAIN", "Authentication failed"), ("X", "not X")):
            access = ConnectionSettings(
                "test", Security(sasl=SaslSettings(mechanism, "a", "wrong"))
            )
            with pytest.raises(SecurityError, match=expected):
                await open_connection(address, access)


async def test_a_request_timeout_closes_the_load_connection() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with server_that(say_nothing) as address:
        connection = await raw_connection(address)
        with pytest.raises(ConnectionLostError, match=r"no response within 0\.02 s"):
            await connection.handshake(SETTINGS, 0.02)
        await asyncio.sleep(0.01)
        with pytest.raises(ConnectionLostError, match="is closed"):
            await connection.handshake(SETTINGS, 0.02)


@pytest.mark.parametrize("nonsense", [b"\0\0\0\2xx", b"\xff\xff\xff\xff", b"\0\0\0\6\0\0\0\5xx"])
async def test_an_invalid_response_closes_the_load_connection(nonsense: bytes) -> None:
    async def response(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(nonsense)
        await reader.read()

    async with server_that(response) as address:
        connection = await raw_connection(address)
        with pytest.raises(ConnectionLostError, match="the broker's response"):
            await connection.handshake(SETTINGS, 5)


class Collector:
    """A reader that records responses."""

    def __init__(self) -> None:
        self.responses: list[bytes] = []
        self.is_lost = asyncio.Event()

    def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
        self.responses.append(buffer[start:end])

    def lost(self, now_us: int) -> None:
        self.is_lost.set()


@pytest.mark.parametrize("chunk", [1, 3, 1000])
async def test_responses_do_not_depend_on_the_chunks_of_their_bytes(chunk: int) -> None:
    async def response(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = b"\0\0\0\1a\0\0\0\0\0\0\0\3bcd"
        for first in range(0, len(data), chunk):
            writer.write(data[first : first + chunk])
            await asyncio.sleep(0.001)

    async with server_that(response) as address:
        collector = Collector()
        connection = await raw_connection(address)
        connection.reader = collector
        await asyncio.wait_for(collector.is_lost.wait(), 10)
        assert connection.is_lost
    assert collector.responses == [b"a", b"", b"bcd"]


async def test_discard_responses_lets_the_broker_read_all_requests() -> None:
    got: list[bytes] = []

    async def response(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.read())
        writer.write(b"\0\0\0\1a")

    async with server_that(response) as address:
        collector = Collector()
        connection = await raw_connection(address)
        connection.reader = collector
        connection.send(b"everything")
        await connection.discard_responses(5)
        assert connection.is_lost
    assert collector.responses == []
    assert got == [b"everything"]


async def test_a_response_queue_completes_futures_in_order() -> None:
    queue = ResponseQueue(lambda buffer, start, _end: (0, buffer[start], 5, 6))
    first, second, third = queue.expect(), queue.expect(), queue.expect()
    queue.responded(b"\1\2", 0, 1, 100)
    second.cancel()
    queue.responded(b"\1\2", 1, 2, 200)
    queue.lost(300)
    assert await first == (100, 1, 5, 6)
    with pytest.raises(ConnectionLostError):
        await third


async def test_frames_caused_by_one_read_are_written_together() -> None:
    written: list[bytes] = []

    class Transport:
        def write(self, data: bytes) -> None:
            written.append(data)

    class Asking:
        def __init__(self, connection: LoadConnection) -> None:
            self._connection = connection

        def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
            self._connection.send(b"next")

        def lost(self, now_us: int) -> None:
            raise AssertionError("never")

    connection = LoadConnection("test")
    connection.connection_made(cast("asyncio.Transport", Transport()))
    connection.reader = Asking(connection)
    connection.send(b"first")
    connection.data_received(b"\0\0\0\1a\0\0\0\1b\0\0")
    connection.data_received(b"\0\1c")
    assert written == [b"first", b"nextnext", b"next"]
