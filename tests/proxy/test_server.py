"""The proxy over real sockets, in front of a cluster of ours."""

import asyncio

import pytest

from broker.addresses import Address
from broker.cluster import broker_membership
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_response
from tests.proxy.served_proxy import HOST, options, serving, until


async def test_each_broker_has_a_port_that_its_address_in_every_response_names() -> None:
    async with serving(3) as served:
        client = await served.connect()
        found = await client.metadata("orders")
        brokers = served.proxy.cluster.brokers
        ports = {broker.node_id: broker.port for broker in found.brokers}
        assert ports == {node_id: brokers[node_id].port for node_id in (1, 2, 3)}
        assert {broker.host for broker in found.brokers} == {HOST}
        upstream = {broker.port for broker in served.cluster.cluster.brokers.values()}
        assert not upstream & {*ports.values(), served.bootstrap_port}
        for node_id, port in ports.items():
            direct = await served.connect(port)
            assert (await direct.metadata()).controller_id == 1
            connected = [p.broker_id for p in served.cluster.protocols]
            assert node_id in connected
            await direct.close()
        await client.close()


async def test_a_broker_that_joins_has_a_port_before_a_client_knows_it() -> None:
    async with serving() as served:
        client = await served.connect()
        await served.cluster.add_broker(7)
        found = await client.metadata()
        port = {broker.node_id: broker.port for broker in found.brokers}[7]
        assert port == served.proxy.cluster.brokers[7].port
        direct = await served.connect(port)
        assert len((await direct.metadata()).brokers) == 2
        await direct.close()
        broker_membership.decommission_broker(served.cluster.cluster, 7, 0)
        await served.cluster.add_broker(7)
        again = await client.metadata()
        assert {broker.node_id: broker.port for broker in again.brokers}[7] == port
        await client.close()


async def test_ports_follow_the_bootstrap_port_and_one_that_is_taken_is_left_out() -> None:
    from broker.serve import start_server  # noqa: PLC0415
    from client.security import Security  # noqa: PLC0415
    from proxy.serve import start_proxy  # noqa: PLC0415
    from tests.free_ports import free_port_run  # noqa: PLC0415

    first = free_port_run(4)
    cluster = await start_server(options(broker_count=2))
    taken = await asyncio.start_server(lambda _reader, _writer: None, HOST, first + 1)
    to = [Address(HOST, broker.port) for broker in cluster.cluster.brokers.values()]
    chosen = options()
    object.__setattr__(chosen, "port", first)
    proxy = await start_proxy(chosen, to, Security())
    ports = {node_id: broker.port for node_id, broker in proxy.cluster.brokers.items()}
    await proxy.stop()
    taken.close()
    await cluster.stop()
    assert ports == {-1: first, 1: first + 2, 2: first + 3}


async def test_apis_that_nobody_here_knows_pass_as_bytes() -> None:
    received = asyncio.Queue[bytes]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while size := await reader.read(4):
            frame = await reader.readexactly(int.from_bytes(size))
            received.put_nowait(frame)
            body = frame[4:8] + b"unknown"
            writer.write(len(body).to_bytes(4) + body)
        writer.close()

    upstream = await asyncio.start_server(answer, HOST, 0)
    address = Address(HOST, upstream.sockets[0].getsockname()[1])
    frame = b"\x12\x67\0\3\0\0\0\7\0\2id what nobody knows"
    async with serving(to=[address]) as served:
        for is_looked_at in (False, True):
            served.proxy.forwarding.journal.is_enabled = is_looked_at
            while not received.empty():
                received.get_nowait()
            client = await served.connect()
            client.writer.write(len(frame).to_bytes(4) + frame)
            assert await client.frame() == b"\0\0\0\x0b\0\0\0\7unknown"
            assert received.get_nowait() == frame
            await client.close()
    upstream.close()


async def test_an_unknown_version_of_an_api_with_addresses_closes_the_connection() -> None:
    async with serving() as served:
        client = await served.connect()
        frame = b"\0\3\0\x63\0\0\0\1\xff\xff"
        client.writer.write(len(frame).to_bytes(4) + frame)
        assert await client.frame() == b""
        assert served.reasons() == ["the addresses in METADATA v99 are unknown, up to v13"]


async def test_a_lost_broker_closes_the_clients_connection_with_a_line() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.metadata()
        for protocol in served.cluster.protocols:
            protocol.cut("the test says so")
        assert await client.frame() == b""
        assert "lost the connection to the broker behind the proxy" in served.reasons()[-1]


async def test_a_broker_that_refuses_connections_closes_the_clients_with_a_line() -> None:
    async with serving() as served:
        port = served.proxy.cluster.brokers[1].port
        await served.cluster.listeners.close()
        client = await served.connect(port)
        assert await client.frame() == b""
        assert served.reasons()[-1].startswith("cannot connect to the broker behind the proxy")


async def test_a_server_that_is_no_kafka_broker_closes_the_clients_with_a_line() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    upstream = await asyncio.start_server(answer, HOST, 0)
    address = Address(HOST, upstream.sockets[0].getsockname()[1])
    async with serving(to=[address]) as served:
        client = await served.connect()
        client.send(ApiKey.METADATA, 12, messages.MetadataRequest(topics=[]))
        assert await client.frame() == b""
        assert "--to must name a Kafka broker" in served.reasons()[-1]
        assert any(line["event"] == "the cluster is not known yet" for line in served.logs)
    upstream.close()


async def test_a_client_that_is_gone_closes_the_connection_to_its_broker() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.metadata()
        assert len(served.cluster.protocols) == 1
        client.writer.transport.abort()
        await until(lambda: not (served.cluster.protocols or served.proxy.protocols))
        assert served.proxy.forwarding.upstreams == {}


async def test_a_version_that_the_proxy_cannot_rewrite_is_not_offered() -> None:
    made = messages.ApiVersionsResponse.ApiVersion

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while size := await reader.read(4):
            await reader.readexactly(int.from_bytes(size))
            versions = [
                made(api_key=3, min_version=0, max_version=40),
                made(api_key=1, min_version=30, max_version=40),
                made(api_key=4711, min_version=0, max_version=99),
            ]
            response = messages.ApiVersionsResponse(error_code=0, api_keys=versions)
            writer.write(encode_response(1, ApiKey.API_VERSIONS, 4, response))
        writer.close()

    upstream = await asyncio.start_server(answer, HOST, 0)
    address = Address(HOST, upstream.sockets[0].getsockname()[1])
    async with serving(to=[address]) as served:
        client = await served.connect()
        request = messages.ApiVersionsRequest(client_software_name="a", client_software_version="1")
        response = await client.ask(ApiKey.API_VERSIONS, 4, request)
        found = {v.api_key: (v.min_version, v.max_version) for v in response.api_keys}
        assert found == {3: (0, 13), 4711: (0, 99)}
    upstream.close()


@pytest.mark.parametrize("is_looked_at", [False, True])
async def test_a_client_that_does_not_read_stops_the_broker_and_goes_on_later(
    *, is_looked_at: bool
) -> None:
    body = bytes(1 << 20)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = 0
        while size := await reader.read(4):
            frame = await reader.readexactly(int.from_bytes(size))
            response = frame[4:8] + body
            writer.write(len(response).to_bytes(4) + response)
            await writer.drain()
            sent += 1
        writer.close()

    upstream = await asyncio.start_server(answer, HOST, 0)
    address = Address(HOST, upstream.sockets[0].getsockname()[1])
    frame = b"\x12\x67\0\3\0\0\0\7\xff\xff"
    async with serving(to=[address]) as served:
        served.proxy.forwarding.journal.is_enabled = is_looked_at
        client = await served.connect()
        client.writer.write((len(frame).to_bytes(4) + frame) * 32)
        await until(lambda: any(p._is_write_paused for p in served.proxy.protocols))
        (protocol,) = served.proxy.protocols
        assert protocol._transport.get_write_buffer_size() < 3 << 20
        for _ in range(32):
            assert len(await client.frame()) == 8 + len(body)
    upstream.close()
