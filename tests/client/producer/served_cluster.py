"""Our broker in the event loop of a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from broker.config.broker_config import BrokerConfig
from broker.serve import ServeOptions, bootstrap_lines, start_server

NOBODY = "127.0.0.1:1"
"""An address at which no broker listens."""


class Served:
    """A running cluster."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.servers = bootstrap_lines(server)[0].partition("=")[2]


@asynccontextmanager
async def serving(**config: str) -> AsyncIterator[Served]:
    properties = {key.replace("_", "."): value for key, value in config.items()}
    options = ServeOptions("127.0.0.1", 0, 1, BrokerConfig(properties))
    server = await start_server(options)
    try:
        async with asyncio.timeout(20):
            yield Served(server)
    finally:
        await server.stop()
