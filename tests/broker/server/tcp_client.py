"""A server on a free port and a client that speaks to it over TCP."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from structlog.testing import capture_logs

import broker.handlers  # noqa: F401 - registers every API
from broker.server.server import Server
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import (
    metadata_frame,
)


class ManualClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.time_ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.time_ms

    def wait_s(self, delay_ms: int) -> float | None:
        return max(0, delay_ms) / 1000

    def move_to(self, time_ms: int) -> None:
        self.time_ms = max(self.time_ms, time_ms)


@asynccontextmanager
async def serving(
    **overrides: str,
) -> AsyncIterator[tuple[Server, int, Sequence[MutableMapping[str, Any]]]]:
    """A listening server, its port, and the log entries so far."""
    server = Server(make_cluster(1, **overrides), ManualClock())
    port = await server.listen(server.cluster.brokers[1], "127.0.0.1", 0)
    with capture_logs() as logs:
        server.start()
        try:
            async with asyncio.timeout(60):
                yield server, port, logs
        finally:
            await server.stop()


async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    size = int.from_bytes(await reader.readexactly(4), "big")
    return await reader.readexactly(size)


async def assert_serves(port: int) -> None:
    """Check that a correct client gets a response."""
    reader, writer = await connect(port)
    writer.write(metadata_frame(77))
    frame = await read_frame(reader)
    assert int.from_bytes(frame[:4], "big") == 77
    writer.close()
