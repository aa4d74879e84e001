"""Serving: make a cluster, bind its listeners, say where, and stop on a signal."""

import asyncio
import base64
import gc
import logging
import signal
import sys
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import structlog

from broker.clock import SystemClock
from broker.cluster import Cluster
from broker.config.broker_config import BrokerConfig
from broker.server import Server

GC_THRESHOLD = 50_000
"""Allocations between collections: the default looks through young objects after every 700."""


class StartError(Exception):
    """The cluster can't start; the message is one line for people."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What the command line said."""

    host: str
    port: int
    broker_count: int
    config: BrokerConfig
    log_level: str = "info"
    log_format: str = "console"


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port; port 0 stands for "the one it listens on"."""

    host: str
    port: int

    def shifted(self, index: int) -> "Address":
        """The address of the broker at `index`: the following ports."""
        return Address(self.host, self.port + index if self.port else 0)


async def serve(options: ServeOptions) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        StartError: an address cannot be bound.
    """
    configure_logging(options.log_level, options.log_format)
    gc.set_threshold(GC_THRESHOLD, 20, 50)
    raise_file_limit()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stopped.set)
    server = await start_server(options)
    cluster = server.cluster
    addresses = ",".join(f"{b.host}:{b.port}" for b in cluster.brokers.values())
    print(f"bootstrap.servers={addresses}", flush=True)  # noqa: T201 - the promised first line
    gc.freeze()
    await stopped.wait()
    await server.stop()


async def start_server(options: ServeOptions) -> Server:
    """A cluster with all its listeners bound and its timers running."""
    cluster_id = options.config["cluster.id"] or new_cluster_id()
    cluster = Cluster(options.config, options.broker_count, cluster_id=cluster_id, new_uuid=uuid4)
    server = Server(cluster, SystemClock())
    listen_at = Address(options.host, options.port)
    advertised = advertised_address(options.config["advertised.listeners"])
    for index, broker in enumerate(cluster.brokers.values()):
        address = listen_at.shifted(index)
        try:
            port = await server.listen(broker, address.host, address.port)
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise StartError(f"cannot listen on {address.host}:{address.port}: {reason}") from error
        told = (advertised or Address(address.host, 0)).shifted(index)
        broker.host, broker.port = told.host, told.port or port
        broker.rack = options.config["broker.rack"] or None
    server.start()
    return server


def new_cluster_id() -> str:
    """A random id in Kafka's form: 16 bytes as base64 without padding."""
    return base64.urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")


def advertised_address(listeners: tuple[str, ...] | None) -> Address | None:
    """Host and port of the first of `advertised.listeners`, or None when there is none.

    Raises:
        StartError: it is not NAME://HOST:PORT.
    """
    if not listeners:
        return None
    _name, scheme_end, rest = listeners[0].partition("://")
    host, colon, port = rest.rpartition(":")
    if not scheme_end or not colon or not host or not port.isdigit() or int(port) > 65535:
        raise StartError(f"advertised.listeners: {listeners[0]!r} is not NAME://HOST:PORT")
    return Address(host.strip("[]"), int(port))


def raise_file_limit() -> None:
    """Allow as many open sockets as the system lets us; each connection needs one."""
    try:
        import resource  # noqa: PLC0415 - not to be had on Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def configure_logging(level: str, log_format: str) -> None:
    """Send log lines to standard error, as text or as JSON."""
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    processors: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if log_format == "json":
        processors.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
