import asyncio
import weakref

import pytest
from aiokafka.conn import AIOKafkaConnection, create_conn

from mock_kafka import MockKafka
from tests.left_connections import LeftConnections

pytestmark = pytest.mark.slow


async def leave_connection(port: int) -> "weakref.ref[AIOKafkaConnection]":
    return weakref.ref(await create_conn("127.0.0.1", port))


def test_a_connection_that_is_left_open_is_collected_without_a_warning() -> None:
    connections = LeftConnections()
    connections.watch()
    with MockKafka(in_process=True) as kafka:
        left = asyncio.run(leave_connection(kafka.port))
        assert connections.collect() == 1
        assert left() is None
        assert connections.collect() == 0
