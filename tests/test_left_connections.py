import asyncio
import weakref
from typing import Any

import pytest
from aiokafka.conn import create_conn

from mock_kafka import MockKafka
from tests.left_connections import LeftConnections

pytestmark = pytest.mark.slow


async def leave_connection(bootstrap_servers: str) -> "weakref.ref[Any]":
    """Open a connection that only the collector of garbage can find."""
    host, _, port = bootstrap_servers.rpartition(":")
    connection: Any = await create_conn(host, int(port))
    connection.itself = connection
    return weakref.ref(connection)


def test_a_connection_that_is_left_open_is_collected_without_a_warning() -> None:
    connections = LeftConnections()
    connections.watch()
    with MockKafka(in_process=True) as kafka:
        left = asyncio.run(leave_connection(kafka.bootstrap_servers))
        assert connections.collect() == 1
        assert left() is None
        assert connections.collect() == 0
