"""A cluster with an admin port for tests, with a standing clock, with or without sockets."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import aiohttp
import msgspec

import broker.handlers  # noqa: F401 - registers every API
from broker.clock import BrokerClock, ClockMode
from broker.cluster.cluster import Cluster
from broker.http_admin.operation import encode_result
from broker.http_admin.requests import ListQuery, list_requests
from broker.http_admin.state import Admin
from broker.http_admin.web import AdminPort
from broker.server.listener import listening_sockets
from broker.server.listener_security import PLAINTEXT
from broker.server.listener_settings import plan_listeners
from broker.server.server import Server
from tests.broker.cluster_builder import NOW_MS, make_cluster


def make_admin(broker_count: int = 3, /, **overrides: str) -> Admin:
    """Return the admin of a new cluster without sockets; its clock stands."""
    return admin_of(make_cluster(broker_count, **overrides))


def admin_of(cluster: Cluster) -> Admin:
    """Return the admin of a cluster without sockets; its clock stands."""
    clock = BrokerClock(ClockMode.STANDING, read_ms=lambda: NOW_MS)
    admin = Admin(Server(cluster, clock), clock)
    admin.journal.is_enabled = True
    return admin


async def listed_requests(admin: Admin, query: ListQuery) -> list[dict[str, Any]]:
    """Return the lines of the journal as a client of the admin port gets them."""
    lines: list[dict[str, Any]] = msgspec.json.decode(encode_result(list_requests(admin, query)))
    return lines


@dataclass
class Site:
    """A listening admin port and its HTTP client; `kafka_ports` are the ports of the brokers."""

    admin: Admin
    url: str
    port: AdminPort
    kafka_ports: list[int]
    session: aiohttp.ClientSession

    async def ask(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Send a request; return status and body, decoded if it is JSON."""
        async with self.session.request(method, self.url + path, **options) as response:
            text = await response.text()
            is_json = "json" in response.content_type and "ndjson" not in response.content_type
            return response.status, (await response.json(content_type=None)) if is_json else text


@asynccontextmanager
async def serving_site(
    *,
    broker_count: int = 3,
    token: str | None = None,
    connections_max: int = sys.maxsize,
    overrides: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[Site]:
    """Start a cluster on loopback with its admin port."""
    admin = make_admin(broker_count, **overrides)
    server = admin.server
    plans = plan_listeners(admin.cluster.config, "127.0.0.1", 0, broker_count)
    server.listeners.plans = [(plan, PLAINTEXT) for plan in plans]
    ports = []
    for started in admin.cluster.brokers.values():
        await server.open(started)
        ports.append(started.port)
    server.start()
    port = AdminPort(admin, token, {"localhost", "kafka.test"}, connections_max)
    sockets = listening_sockets("127.0.0.1", 0)
    url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    await port.start(sockets)
    try:
        async with aiohttp.ClientSession() as session, asyncio.timeout(60):
            yield Site(admin, url, port, ports, session)
    finally:
        await port.stop()
        await server.stop()
