"""Brokers behind the proxy that refuse connections: their ports of the proxy refuse them, too.

A client that is refused tries another broker, or waits; one that is accepted and cut off has to
find out first. While a port is closed, nobody but the proxy asks whether the broker is back.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from broker.addresses import Address
from broker.log import log

RETRY_S = 0.5
"""So often a broker is asked whether it accepts connections again."""
ATTEMPT_S = 2.0
"""How long one attempt may take."""


class RefusingBrokers:
    """Knows which brokers refuse connections, and asks them again."""

    def __init__(
        self, address_of: Callable[[int], Address], on_change: Callable[[int], None]
    ) -> None:
        """`on_change` is called with a node id when a broker begins to refuse, and at its end."""
        self._address_of = address_of
        self._on_change = on_change
        self._waiting: dict[int, asyncio.Task[None]] = {}

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._waiting

    def add(self, node_id: int) -> None:
        """Note that a broker has refused a connection."""
        if node_id not in self._waiting:
            loop = asyncio.get_running_loop()
            self._waiting[node_id] = loop.create_task(self._wait_for(node_id))
            log.info("the broker behind a port refuses connections", broker=node_id)
            self._on_change(node_id)

    async def _wait_for(self, node_id: int) -> None:
        while True:
            if await _accepts(self._address_of(node_id)):
                break
            await asyncio.sleep(RETRY_S)
        del self._waiting[node_id]
        log.info("the broker behind a port accepts connections again", broker=node_id)
        self._on_change(node_id)

    def stop(self) -> None:
        """Ask no more."""
        for task in self._waiting.values():
            task.cancel()


async def _accepts(address: Address) -> bool:
    with suppress(OSError):  # also a TimeoutError
        async with asyncio.timeout(ATTEMPT_S):
            _, writer = await asyncio.open_connection(address.host, address.port)
        writer.close()
        return True
    return False
