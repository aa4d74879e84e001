"""`mock-kafka proxy --diff`: serve as a proxy, compare, and report at the end."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from broker.addresses import Address
from broker.clock import BrokerClock
from broker.log import log
from broker.serve import ServeOptions, StartError, serve
from broker.server.server import Server
from client.errors import ClientError
from client.tools.session import ToolError
from proxy.diff.report import Report
from proxy.diff.report_page import page_of
from proxy.diff.shadow_world import HIDDEN_KEYS, read_world, start_shadow
from proxy.diff.watcher import Watcher
from proxy.server import ProxyServer

SETTLE_S = 1.0
"""What our broker has begun at the end has so long to end."""

StartProxy = Callable[[ServeOptions], Coroutine[Any, Any, ProxyServer]]


async def serve_and_compare(
    options: ServeOptions,
    start_proxy: StartProxy,
    to: tuple[Address, ...],
    properties: Mapping[str, str],
    records_max: int | None,
) -> Report:
    """Read the world of a cluster, serve as a proxy until a signal, and return the report.

    `records_max` is how many records of each partition are read at the start, None for all.

    Raises:
        StartError: the cluster cannot be read, or an address cannot be bound.
        ConfigError: the configuration of the listeners is invalid.
    """
    servers = ",".join(map(str, to))
    overrides = options.config.overrides
    hidden = {name: overrides[name] for name in HIDDEN_KEYS if name in overrides}
    try:
        world = await asyncio.to_thread(read_world, servers, properties, records_max, hidden)
    except (ClientError, ToolError) as error:
        raise StartError(f"--diff: cannot read the cluster: {error}") from error
    for line in world.missing:
        log.warning("the recorded world lacks something", what=line)
    clock = BrokerClock()
    shadow, server = await start_shadow(world, clock)

    async def start(given: ServeOptions) -> Server:
        proxy = await start_proxy(given)
        Watcher(shadow, clock).watch(proxy.forwarding)
        return proxy

    await serve(options, start, _prepare_nothing)
    await asyncio.sleep(SETTLE_S)
    report = shadow.end()
    server.timer_driver.stop()
    return report


def write_report(report: Report, path: Path) -> None:
    """Write a report: JSON if the name ends with `.json`, else a page.

    Raises:
        OSError: the file cannot be written.
    """
    document = report.document()
    text = json.dumps(document, indent=1) if path.suffix == ".json" else page_of(document)
    path.write_text(text + "\n", encoding="utf-8")


async def _prepare_nothing() -> None:
    """Import no handler: requests import those that they need."""
