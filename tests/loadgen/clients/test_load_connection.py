"""A connection of the load: handshake, requests, Produce frames, and its end."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from broker.server.certificates import write_certificates
from client.addresses import addresses_of
from client.errors import ConnectionLostError, SecurityError, UnreachableError
from client.protocol_codec import ProtocolCodec
from client.resources import Address
from client.security import SaslSettings, Security, TlsSettings
from client.transport import tls_context
from loadgen import clock
from loadgen.clients.connection_settings import ConnectionSettings
from loadgen.clients.load_connection import LoadConnection, open_connection
from mock_kafka import MockKafka
from protocol import messages
from protocol.codec import frame_response

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
        connection = LoadConnection(ProtocolCodec("test"))
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("package", ["asyncio", "uvloop"])
def test_a_connection_with_tls_and_sasl_gets_its_responses_on_either_event_loop(
    package: str, tmp_path: Path
) -> None:
    new_loop: Callable[[], asyncio.AbstractEventLoop] = pytest.importorskip(
        package, reason="uvloop is not for this system", exc_type=ImportError
    ).new_event_loop
    write_certificates(tmp_path, ["127.0.0.1"], [], clock.epoch_us() // 1000)
    tls = TlsSettings(ca_path=str(tmp_path / "ca.pem"))
    sasl = SaslSettings("SCRAM-SHA-256", "a", "b")
    settings = ConnectionSettings("test", Security(tls, sasl), tls_context(tls))
    request = messages.MetadataRequest(topics=[], allow_auto_topic_creation=False)

    async def ask(address: Address) -> int:
        connection = await open_connection(address, settings)
        is_lost = asyncio.Event()
        connection.on_lost = lambda _now_us: is_lost.set()
        response = await connection.send_request(request, 10)
        connection.abort()
        await asyncio.wait_for(is_lost.wait(), 10)
        return len(response.brokers)

    config: dict[str, str | int] = {
        "listeners": "SASL_SSL://:0",
        "sasl.users": "a:b",
        "ssl.keystore.location": str(tmp_path / "server.pem"),
    }
    with MockKafka(config=config) as kafka, asyncio.Runner(loop_factory=new_loop) as runner:
        [address] = addresses_of(kafka.bootstrap_servers)
        assert runner.run(ask(address)) == 1


async def test_a_request_timeout_closes_the_load_connection() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with server_that(say_nothing) as address:
        with pytest.raises(ConnectionLostError, match=rf":{address.port} accepts .* 0\.02 s"):
            await open_connection(address, SETTINGS, 0.02)
        connection = await raw_connection(address)
        frame = connection.wire.api_versions_request()
        with pytest.raises(ConnectionLostError, match=r"no response within 0\.02 s"):
            await connection.exchange(frame, 0.02)
        await asyncio.sleep(0.01)
        with pytest.raises(ConnectionLostError, match="is closed"):
            await connection.exchange(frame, 0.02)


@pytest.mark.parametrize("nonsense", [b"\0\0\0\2xx", b"\xff\xff\xff\xff", b"\0\0\0\6\0\0\0\5xx"])
async def test_an_invalid_response_closes_the_load_connection(nonsense: bytes) -> None:
    async def response(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(nonsense)
        await reader.read()

    async with server_that(response) as address:
        with pytest.raises(ConnectionLostError, match="the broker's response"):
            await open_connection(address, SETTINGS)
        connection = await raw_connection(address)
        with pytest.raises(ConnectionLostError, match="the broker's response"):
            await connection.exchange(connection.wire.api_versions_request(), 5)


class Collector:
    """A reader that records responses."""

    def __init__(self) -> None:
        self.responses: list[bytes] = []

    def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
        self.responses.append(buffer[start:end])


@pytest.mark.parametrize("chunk", [1, 3, 1000])
async def test_responses_do_not_depend_on_the_chunks_of_their_bytes(chunk: int) -> None:
    async def response(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = b"\0\0\0\1a\0\0\0\0\0\0\0\3bcd"
        for first in range(0, len(data), chunk):
            writer.write(data[first : first + chunk])
            await asyncio.sleep(0.001)

    async with server_that(response) as address:
        collector, is_lost = Collector(), asyncio.Event()
        connection = await raw_connection(address)
        connection.on_lost = lambda _now_us: is_lost.set()
        for _ in range(3):
            connection.send(b"frame", collector)
        await asyncio.wait_for(is_lost.wait(), 10)
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
        connection.send(b"everything", collector)
        await connection.discard_responses(5)
        assert connection.is_lost
    assert collector.responses == []
    assert got == [b"everything"]


class Transport:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.is_aborted = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def abort(self) -> None:
        self.is_aborted = True


def connection_on(transport: Transport) -> LoadConnection:
    connection = LoadConnection(ProtocolCodec("test"))
    connection.connection_made(cast("asyncio.Transport", transport))
    return connection


async def test_responses_complete_their_futures_in_order() -> None:
    connection = connection_on(Transport())
    first, second, third = (
        connection.request(b"frame", lambda buffer, start, _end: buffer[start]) for _ in range(3)
    )
    connection.data_received(b"\0\0\0\1\7")
    second.cancel()
    connection.data_received(b"\0\0\0\1\10")
    connection.connection_lost(None)
    received_us, content = await first
    assert content == 7
    assert 0 <= clock.now_us() - received_us < 10_000_000
    with pytest.raises(ConnectionLostError):
        await third


async def test_messages_and_frames_share_a_connection_in_any_order() -> None:
    connection, collector = connection_on(Transport()), Collector()
    connection.send(b"frame", collector)
    exchange = asyncio.create_task(connection.exchange(connection.wire.api_versions_request(), 10))
    await asyncio.sleep(0)
    connection.send(b"frame", collector)
    body = bytes(messages.ApiVersionsResponse(error_code=0, api_keys=[]).encode(version=4))
    response = frame_response(1, body, has_tagged_header=False)
    connection.data_received(b"\0\0\0\1a" + response + b"\0\0\0\1b")
    assert collector.responses == [b"a", b"b"]
    assert await exchange == messages.ApiVersionsResponse(version=4, error_code=0, api_keys=[])


async def test_a_response_without_a_request_closes_the_connection() -> None:
    transport = Transport()
    connection = connection_on(transport)
    connection.data_received(b"\0\0\0\1a")
    assert transport.is_aborted


async def test_frames_caused_by_one_read_are_written_together() -> None:
    class Asking:
        """Sends a frame after each response."""

        def __init__(self, connection: LoadConnection) -> None:
            self._connection = connection

        def responded(self, buffer: bytes, start: int, end: int, now_us: int) -> None:
            self._connection.send(b"next", self)

    transport = Transport()
    connection = connection_on(transport)
    reader = Asking(connection)
    connection.send(b"first", reader)
    connection.send(b"second", reader)
    connection.data_received(b"\0\0\0\1a\0\0\0\1b\0\0")
    connection.data_received(b"\0\1c")
    assert transport.written == [b"first", b"second", b"nextnext", b"next"]
