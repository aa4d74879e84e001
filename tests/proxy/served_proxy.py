"""A proxy in front of a cluster of ours, both in the event loop of the test, and raw clients."""

import asyncio
from collections.abc import AsyncIterator, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from structlog.testing import capture_logs

import broker.handlers  # noqa: F401 - registers every API
from broker.addresses import Address
from broker.config.broker_config import BrokerConfig
from broker.serve import ServeOptions, start_server
from broker.server.server import Server
from client.security import Security
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_response, encode_request
from proxy.serve import start_proxy
from proxy.server import ProxyServer

HOST = "127.0.0.1"


class Served(NamedTuple):
    """The cluster, the proxy, and the log lines so far."""

    cluster: Server
    proxy: ProxyServer
    logs: Sequence[MutableMapping[str, Any]]
    clients: "list[RawClient]"

    async def connect(self, port: int | None = None) -> "RawClient":
        """Return a client of a port of the proxy, by default the bootstrap port."""
        streams = await asyncio.open_connection(HOST, port or self.bootstrap_port)
        self.clients.append(RawClient(*streams))
        return self.clients[-1]

    @property
    def bootstrap_port(self) -> int:
        """The port that clients begin with."""
        return self.proxy.cluster.brokers[-1].port

    def reasons(self) -> list[str]:
        """Return why connections of the proxy were closed."""
        return [line["reason"] for line in self.logs if line["event"] == "connection closed"]


def options(config: dict[str, str] | None = None, broker_count: int = 1) -> ServeOptions:
    return ServeOptions(HOST, 0, broker_count, BrokerConfig.from_overrides(config or {}))


@asynccontextmanager
async def serving(
    broker_count: int = 1,
    *,
    to: Sequence[Address] = (),
    of_cluster: dict[str, str] | None = None,
    **of_proxy: str,
) -> AsyncIterator[Served]:
    """Serve a cluster and a proxy to it, or to other addresses."""
    with capture_logs() as logs:
        cluster = await start_server(options(of_cluster, broker_count))
        addresses = to or [Address(HOST, b.port) for b in cluster.cluster.brokers.values()]
        config = {key.replace("_", "."): text for key, text in of_proxy.items()}
        proxy = await start_proxy(options(config), addresses, Security())
        served = Served(cluster, proxy, logs, [])
        try:
            async with asyncio.timeout(60):
                yield served
        finally:
            for client in served.clients:
                await client.close()
            await proxy.stop()
            await cluster.stop()


async def until(is_true: Callable[[], bool]) -> None:
    """Let the event loop run until something is true."""
    for _ in range(100_000):
        if is_true():
            return
        await asyncio.sleep(0)
    raise TimeoutError


class RawClient:
    """Sends encoded requests, and decodes the responses."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, key: ApiKey, version: int, message: Any, correlation_id: int = 1) -> None:
        frame = encode_request(correlation_id, "client", key, version, message)
        self.writer.write(len(frame).to_bytes(4) + frame)

    async def frame(self) -> bytes:
        """Return the next response with its size; b"" at the end of the connection."""
        try:
            size = await self.reader.readexactly(4)
            return size + await self.reader.readexactly(int.from_bytes(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""

    async def response(self, key: ApiKey, version: int) -> Any:
        return decode_response(await self.frame(), key, version)

    async def ask(self, key: ApiKey, version: int, message: Any) -> Any:
        self.send(key, version, message)
        return await self.response(key, version)

    async def metadata(self, *names: str, version: int = 12) -> Any:
        topics = [messages.MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        request = messages.MetadataRequest(topics=topics, allow_auto_topic_creation=True)
        return await self.ask(ApiKey.METADATA, version, request)

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()
