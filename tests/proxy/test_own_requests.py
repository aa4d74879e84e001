import asyncio

import pytest

from broker.addresses import Address
from client.security import Security
from proxy.own_requests import UnknownClusterError, describe_cluster
from tests.free_ports import free_port_run
from tests.proxy.served_proxy import HOST, serving


async def test_the_first_address_that_answers_describes_the_cluster() -> None:
    nobody = Address(HOST, free_port_run(1))
    async with serving(2) as served:
        port = served.cluster.cluster.brokers[2].port
        found = await describe_cluster([nobody, Address(HOST, port)], Security())
        assert [broker.node_id for broker in found.brokers] == [1, 2]


async def test_an_unknown_cluster_is_an_error_with_the_reason_of_each_address() -> None:
    async def close(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(close, HOST, 0)
    closing = Address(HOST, server.sockets[0].getsockname()[1])
    with pytest.raises(UnknownClusterError, match=r"cannot connect.*; .*lost the connection"):
        await describe_cluster([Address(HOST, free_port_run(1)), closing], Security())
    server.close()
