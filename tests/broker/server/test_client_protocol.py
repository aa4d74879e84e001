"""One client's socket: invalid input closes it with a log line, and memory is bounded."""

import asyncio
import gc
from collections.abc import Callable, Iterable
from struct import pack
from typing import Any

import pytest

from broker.dispatch.connection import HEAVY_BYTES_MIN, Connection
from broker.dispatch.turns import Turns
from broker.responses import new_output
from broker.server.client_protocol import ClientProtocol
from broker.server.server import Server
from protocol import messages
from protocol.api_keys import ApiKey
from tests.broker.connection_driver import fetch_frame, metadata_frame, request_frame
from tests.broker.server.tcp_client import assert_serves, connect, read_frame, serving

TIMEOUT_S = 30


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pack(">i", -1), "negative size"),
        (pack(">i", 2_000_000_000), "socket.request.max.bytes"),
        (pack(">ihhih", 10, 999, 0, 1, -1), "unknown API key"),
        (pack(">ihhih", 10, 3, 99, 1, -1), "unsupported version"),
        (pack(">ihhih", 14, 3, 4, 1, -1) + b"\x7f\xff\xff\xff", "undecodable"),
    ],
)
async def test_an_invalid_request_closes_the_connection_with_one_log_line(
    data: bytes, reason: str
) -> None:
    async with serving() as (_, port, logs):
        reader, writer = await connect(port)
        writer.write(data)
        assert await reader.read() == b""
        writer.close()
        await assert_serves(port)
    closed = [entry for entry in logs if entry["event"] == "connection closed"]
    assert len(closed) == 1
    assert reason in closed[0]["reason"]
    assert closed[0]["peer"].startswith("127.0.0.1:")


async def test_a_closed_connection_is_freed_without_the_garbage_collector() -> None:
    def connections() -> int:
        return sum(isinstance(found, Connection) for found in gc.get_objects())

    async with serving() as (server, port, _):
        gc.collect()
        gc.disable()
        try:
            before = connections()
            await assert_serves(port)
            while server.protocols:  # noqa: ASYNC110 - no event reports it
                await asyncio.sleep(0)
            assert connections() == before
        finally:
            gc.enable()


class BufferingTransport(asyncio.transports._FlowControlMixin):
    """A transport whose client never reads, with `writelines` of Python 3.12.1 and 3.13.0."""

    def __init__(self, protocol: ClientProtocol) -> None:
        super().__init__(None, asyncio.get_running_loop())
        self._protocol = protocol
        self.written: list[bytes] = []
        self.has_closed = False

    def is_closing(self) -> bool:
        return self.has_closed

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.written))

    def writelines(self, parts: Iterable[Any]) -> None:
        self.written += parts

    def pause_reading(self) -> None:
        """Do nothing: nothing is read."""


async def test_a_client_that_does_not_read_responses_in_parts_is_paused() -> None:
    async with serving() as (server, port, _):
        _reader, writer = await connect(port)
        await loop_until(lambda: bool(server.protocols))
        (protocol,) = server._protocols
        real = protocol._transport
        protocol._transport = transport = BufferingTransport(protocol)
        small, large = [b"x" * 1000] * 2, [b"x" * 100_000] * 2
        try:
            protocol._perform(new_output((b"", None, False, 0, small)))
            assert not protocol._is_write_paused
            protocol._perform(new_output((b"", None, False, 0, large)))
            assert protocol._is_write_paused
            assert transport.written == small + large

            transport.has_closed = True
            protocol._perform(new_output((b"", None, False, 0, large)))
            assert transport.written == small + large
        finally:
            protocol._transport = real
        writer.close()


async def test_a_slow_sender_delays_no_other_client() -> None:
    async with serving() as (_, port, logs):
        reader, writer = await connect(port)
        for byte in metadata_frame(5):
            writer.write(bytes((byte,)))
            await writer.drain()
            await asyncio.sleep(0)
        await assert_serves(port)
        assert int.from_bytes((await read_frame(reader))[:4], "big") == 5
        writer.close()
    assert logs == []


@pytest.mark.slow
async def test_the_broker_stops_reading_requests_behind_a_pending_response() -> None:
    async with serving() as (server, port, _):
        server.cluster.create_topic("t", [(1,)], {})
        _reader, writer = await connect(port)
        writer.write(fetch_frame(1, "t", max_wait_ms=10_000_000))
        await writer.drain()
        frame = metadata_frame(2)
        writer.write(frame * (64 * 1024 * 1024 // len(frame)))
        for _ in range(200):
            await asyncio.sleep(0)
        (protocol,) = server._protocols
        assert protocol.connection is not None
        assert protocol.connection.buffered_bytes < 4 * 1024 * 1024
        writer.transport.abort()


async def test_large_requests_are_not_read_to_their_end_while_too_many_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving() as (server, port, _):
        turns = server.dispatcher.turns
        monkeypatch.setattr(Turns, "is_full", property(lambda _turns: True))
        _reader, writer = await connect(port)
        size = 8 * 1024 * 1024
        metadata = pack(">ihhih", size, ApiKey.METADATA, 1, 1, -1)
        writer.write(metadata.ljust(size, b"\0"))
        (attacked,) = server._protocols
        await loop_until(lambda: attacked._is_paused)
        assert attacked.connection is not None
        assert HEAVY_BYTES_MIN < attacked.connection.buffered_bytes < size // 2

        # A producer is read from, however large its request is.
        _reader, producer = await connect(port)
        produce = pack(">ihhih", size, ApiKey.PRODUCE, 9, 1, -1)
        producer.write(produce.ljust(size, b"\0"))
        *_, protocol = server._protocols
        connection = protocol.connection
        assert connection is not None
        await loop_until(lambda: connection.buffered_bytes == size)

        monkeypatch.undo()
        assert turns.on_room is not None
        turns.on_room()
        await loop_until(lambda: not attacked._is_paused)
        for client in (writer, producer):
            client.transport.abort()


async def loop_until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not is_so():  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)


async def ask_without_reading(
    server: Server, port: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, ClientProtocol]:
    """Send a thousand Metadata requests over a connection that reads no response."""
    reader, writer = await connect(port)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    everything = request_frame(messages.MetadataRequest(version=9, topics=None), 9, 1)
    writer.write(everything * 1000)
    (protocol,) = server._protocols
    async with asyncio.timeout(TIMEOUT_S):  # requests take turns, and rest between them
        while not protocol._transport.is_closing():
            await asyncio.sleep(0)
            if protocol._is_write_paused and not server.dispatcher.turns:
                break
    return reader, writer, protocol


@pytest.mark.slow
async def test_requests_of_a_client_that_does_not_read_are_not_handled() -> None:
    async with serving() as (server, port, _):
        for number in range(100):
            server.cluster.create_topic(f"topic-{number}", [(1,)], {})
        reader, writer, protocol = await ask_without_reading(server, port)
        assert protocol._transport.get_write_buffer_size() < 4 * 1024 * 1024
        await assert_serves(port)

        writer.transport.resume_reading()  # type: ignore[attr-defined]
        for _ in range(1000):
            await read_frame(reader)
        writer.close()


@pytest.mark.slow
async def test_a_closed_connection_whose_client_never_reads_is_aborted() -> None:
    async with serving() as (server, port, logs):
        clock: Any = server.clock
        for number in range(100):
            server.cluster.create_topic(f"topic-{number}", [(1,)] * 10, {})
        _reader, writer, protocol = await ask_without_reading(server, port)
        assert protocol._is_write_paused

        clock.time_ms += 601_000
        server.cluster.timers.run_due(clock.time_ms)
        assert list(server._protocols) == [protocol]
        clock.time_ms += 601_000
        server.cluster.timers.run_due(clock.time_ms)
        for _ in range(10):
            await asyncio.sleep(0)

        assert not server._protocols
        writer.transport.abort()
    reasons = [entry["reason"] for entry in logs if "reason" in entry]
    assert reasons == ["idle for 601000 ms"]


@pytest.mark.slow
async def test_the_connection_that_holds_most_is_closed_when_all_hold_too_much() -> None:
    async with serving(**{"connections.held.bytes.max": "50000"}) as (server, port, logs):
        server.cluster.create_topic("t", [(1,)] * 1000, {})
        _reader, writer, protocol = await ask_without_reading(server, port)
        for _ in range(200):
            await asyncio.sleep(0)
        assert protocol not in server.protocols
        await assert_serves(port)
        writer.transport.abort()
    reasons = [entry["reason"] for entry in logs if "reason" in entry]
    assert reasons == ["connections.held.bytes.max (50000) reached"]
