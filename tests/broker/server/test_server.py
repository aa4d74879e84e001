"""The server over real sockets: clients are isolated from each other, and a stop is orderly."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from structlog.testing import capture_logs

import broker.handlers  # noqa: F401 - registers every API
from broker.addresses import Address
from broker.clock import BrokerClock, ClockMode
from broker.cluster import failover
from broker.cluster.brokers import Availability
from broker.faults import fault_rule
from broker.journal.lines import Arrival
from broker.server.listener_security import ListenerSecurity
from broker.server.server import Server
from protocol.api_keys import ApiKey
from quotas.entities import make_entity
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import (
    THROTTLE_TIME_MS,
    break_metadata,
    fetch_frame,
    metadata_frame,
    throttle_metadata,
)
from tests.broker.server.tcp_client import ManualClock, assert_serves, connect, read_frame, serving


@asynccontextmanager
async def serving_two() -> AsyncIterator[tuple[Server, int, int]]:
    """A server of two listening brokers, and their ports."""
    server = Server(make_cluster(2), BrokerClock(ClockMode.STANDING))
    first, second = server.cluster.brokers.values()
    ports = [await server.listen(broker, "127.0.0.1", 0) for broker in (first, second)]
    server.start()
    try:
        async with asyncio.timeout(60):
            yield server, ports[0], ports[1]
    finally:
        await server.stop()


async def test_a_muted_connection_resumes_after_the_mute_or_cleans_up_on_disconnect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    throttle_metadata(monkeypatch)

    async with serving() as (server, port, _):
        clock: Any = server.clock
        timers = server.cluster.timers
        timer_count = len(timers)
        reader, writer = await connect(port)
        writer.write(metadata_frame(1) + metadata_frame(2))
        await read_frame(reader)
        clock.time_ms += THROTTLE_TIME_MS
        timers.run_due(clock.time_ms)
        assert int.from_bytes((await read_frame(reader))[:4], "big") == 2
        assert len(timers) == timer_count + 1
        writer.close()
        while server._protocols:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)
        assert len(timers) == timer_count


@pytest.mark.parametrize("turn_count", range(6))
async def test_a_reset_closes_every_connection_that_a_client_has_opened_before(
    turn_count: int,
) -> None:
    async with serving() as (server, port, _):
        with socket.create_connection(("127.0.0.1", port)) as client:
            for _ in range(turn_count):
                await asyncio.sleep(0)  # the loop accepts it, then calls `connection_made`
            server.reset()
            client.setblocking(False)
            with suppress(ConnectionResetError):
                assert await asyncio.get_running_loop().sock_recv(client, 1) == b""
        await assert_serves(port)


async def test_connections_beyond_connection_creation_rate_are_closed() -> None:
    async with serving(**{"client.quotas": "ip=127.0.0.1,connection_creation_rate=2"}) as (
        server,
        port,
        logs,
    ):
        clock: Any = server.clock
        for _ in range(20):
            await assert_serves(port)
        timer_count = len(server.cluster.timers)
        reader, writer = await connect(port)
        while len(server.cluster.timers) == timer_count:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)
        clock.time_ms += 499
        server.cluster.timers.run_due(clock.time_ms)
        await asyncio.sleep(0)
        assert not reader.at_eof()
        clock.time_ms += 1
        server.cluster.timers.run_due(clock.time_ms)
        assert await reader.read() == b""
        writer.close()
    assert [entry["reason"] for entry in logs if "reason" in entry] == [
        "connection_creation_rate exceeded"
    ]


async def test_connections_beyond_max_connection_creation_rate_wait() -> None:
    async with serving(**{"max.connection.creation.rate": "2"}) as (server, port, _):
        clock: Any = server.clock
        for _ in range(20):
            await assert_serves(port)
        timer_count = len(server.cluster.timers)
        reader, writer = await connect(port)
        writer.write(metadata_frame(1))
        while len(server.cluster.timers) == timer_count:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)
        clock.time_ms += 499
        server.cluster.timers.run_due(clock.time_ms)
        assert not server.protocols[-1].connection
        clock.time_ms += 1
        server.cluster.timers.run_due(clock.time_ms)

        assert int.from_bytes((await read_frame(reader))[:4], "big") == 1
        writer.close()


async def test_a_connection_that_waited_still_needs_the_quota_of_its_address() -> None:
    async with serving(
        **{
            "client.quotas": "ip=127.0.0.1,connection_creation_rate=100",
            "max.connection.creation.rate": "2",
        }
    ) as (server, port, logs):
        clock: Any = server.clock
        for _ in range(20):
            await assert_serves(port)
        timer_count = len(server.cluster.timers)
        reader, writer = await connect(port)
        while len(server.cluster.timers) == timer_count:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)
        address = make_entity([("ip", "127.0.0.1")])
        server.cluster.quotas.clients.alter(address, [("connection_creation_rate", 1.0)])
        for wait_ms in (500, 1000):
            assert not reader.at_eof()
            clock.time_ms += wait_ms
            server.cluster.timers.run_due(clock.time_ms)

        assert await reader.read() == b""
        writer.close()
    assert [entry["reason"] for entry in logs if "reason" in entry] == [
        "connection_creation_rate exceeded"
    ]


async def test_a_stopped_broker_closes_and_refuses_connections_until_it_is_started() -> None:
    async with serving_two() as (server, first_port, other_port):
        reader, writer = await connect(first_port)
        writer.write(metadata_frame(1))
        await read_frame(reader)
        other_reader, other_writer = await connect(other_port)

        failover.stop_broker(server.cluster, 1, server.clock.now_ms())

        assert await reader.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await connect(first_port)
        other_writer.write(metadata_frame(2))
        await read_frame(other_reader)
        failover.start_broker(server.cluster, 1, server.clock.now_ms())
        await assert_serves(first_port)
        for client in (writer, other_writer):
            client.close()


async def test_an_isolated_broker_responds_to_waiting_requests_once_it_is_started() -> None:
    async with serving_two() as (server, first_port, other_port):
        now_ms = server.clock.now_ms()
        reader, writer = await connect(first_port)
        writer.write(metadata_frame(1))
        await read_frame(reader)

        failover.isolate_broker(server.cluster, 1, now_ms)
        new_reader, new_writer = await connect(first_port)
        writer.write(metadata_frame(2))
        new_writer.write(metadata_frame(3))
        await assert_serves(other_port)
        # An hour without requests must not close these connections as idle.
        server.timer_driver.advance(3_600_000)
        await assert_serves(other_port)
        assert not reader._buffer  # type: ignore[attr-defined]
        assert not reader.at_eof()

        failover.start_broker(server.cluster, 1, now_ms)
        assert int.from_bytes((await read_frame(reader))[:4], "big") == 2
        assert int.from_bytes((await read_frame(new_reader))[:4], "big") == 3
        for client in (writer, new_writer):
            client.close()


async def test_a_fault_rule_closes_or_delays_a_new_connection() -> None:
    async with serving_two() as (server, port, _):
        faults, now_ms = server.dispatcher.faults, server.clock.now_ms()
        server.dispatcher.journal.is_enabled = True
        faults.add(fault_rule(refuse_connection=True, times=1), now_ms)
        faults.add(fault_rule(delay_connection_ms=500, skip=1, times=1), now_ms)
        reader, writer = await connect(port)
        assert await reader.read() == b""
        writer.close()
        timer_count = len(server.cluster.timers)
        reader, writer = await connect(port)
        writer.write(metadata_frame(1))
        while len(server.cluster.timers) == timer_count:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)
        await assert_serves(port)
        server.timer_driver.advance(499)
        assert not reader._buffer  # type: ignore[attr-defined]
        server.timer_driver.advance(1)
        await read_frame(reader)
        came = [line for line in server.dispatcher.journal if isinstance(line, Arrival)]
        assert [(arrival.outcome, arrival.broker_id) for arrival in came] == [
            ("refused", 1),
            ("delayed", 1),
        ]
        assert came[1].peer == "{}:{}".format(*writer.get_extra_info("sockname"))
        writer.close()


async def test_a_broker_isolated_by_a_request_responds_to_it_once_it_is_started() -> None:
    async with serving_two() as (server, port, _):
        now_ms = server.clock.now_ms()
        rule = fault_rule(api="Metadata", isolate_broker="self", nth=1, restart_after_ms=1_000)
        server.dispatcher.faults.add(rule, now_ms)
        reader, writer = await connect(port)
        writer.write(metadata_frame(1))
        while server.cluster.brokers[1].availability is not Availability.ISOLATED:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
        server.timer_driver.advance(999)
        assert not reader._buffer  # type: ignore[attr-defined]
        server.timer_driver.advance(1)
        await read_frame(reader)
        writer.close()


async def test_a_bug_in_a_handler_is_logged_and_closes_that_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_metadata(monkeypatch)
    async with serving() as (_, port, logs):
        reader, writer = await connect(port)
        writer.write(metadata_frame(1))
        assert await reader.read() == b""
        writer.close()
    [entry] = [entry for entry in logs if entry["event"] == "request failed"]
    assert (entry["log_level"], entry["api_key"]) == ("error", ApiKey.METADATA)
    assert str(entry["exc_info"]) == "boom"


async def test_random_bytes_from_many_clients_do_not_stop_the_broker() -> None:
    chance = random.Random(20)

    async with serving() as (_, port, logs):

        async def babble() -> None:
            _reader, writer = await connect(port)
            writer.write(chance.randbytes(chance.randint(1, 5000)))
            writer.close()

        await asyncio.gather(*(babble() for _ in range(200)))
        await assert_serves(port)
    assert not [entry for entry in logs if entry["log_level"] == "error"]


async def test_a_client_is_served_beside_a_thousand_silent_connections() -> None:
    async with serving() as (_, port, logs):
        silent = await asyncio.gather(*(connect(port) for _ in range(1000)))
        await assert_serves(port)
        for _reader, writer in silent:
            writer.close()
    assert logs == []


async def test_idle_connections_are_closed_unless_a_response_is_pending() -> None:
    async with serving() as (server, port, logs):
        clock: Any = server.clock
        server.cluster.create_topic("t", [(1,)], {})
        idle_reader, idle_writer = await connect(port)
        idle_writer.write(metadata_frame(1)[:7])
        waiting_reader, waiting_writer = await connect(port)
        waiting_writer.write(fetch_frame(9, "t", max_wait_ms=10_000_000))
        await assert_serves(port)

        while len(server._protocols) > 2:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)

        clock.time_ms += 601_000
        server.cluster.timers.run_due(clock.time_ms)

        assert await idle_reader.read() == b""
        assert not waiting_reader.at_eof()
        for writer in (idle_writer, waiting_writer):
            writer.close()
    reasons = [entry["reason"] for entry in logs if "reason" in entry]
    assert reasons == ["idle for 601000 ms"]


async def until_waiting(server: Server, listener_name: str, count: int) -> None:
    queue = server.accept_queue(1, listener_name)
    while len(queue) < count:  # noqa: ASYNC110 - no event reports it
        await asyncio.sleep(0)


async def connect_and_ask(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await connect(port)
    writer.write(metadata_frame(1))
    await read_frame(reader)
    return reader, writer


@pytest.mark.parametrize("key", ["max.connections", "listener.name.plaintext.max.connections"])
async def test_a_connection_beyond_the_limit_waits_until_another_one_closes(key: str) -> None:
    async with serving(**{key: "2"}) as (server, port, logs):
        first = [await connect_and_ask(port) for _ in range(2)]
        reader, writer = await connect(port)
        writer.write(metadata_frame(7))
        response = asyncio.ensure_future(read_frame(reader))
        await until_waiting(server, "PLAINTEXT", 1)
        assert not response.done()

        first[0][1].close()

        assert int.from_bytes((await response)[:4], "big") == 7
        for client in (first[1][1], writer):
            client.close()
    assert not logs


async def test_a_higher_limit_accepts_those_that_wait_and_a_lower_one_closes_the_idlest() -> None:
    async with serving(**{"max.connections": "1"}) as (server, port, logs):
        clients = [await connect_and_ask(port)]
        for number in (2, 3):
            reader, writer = await connect(port)
            writer.write(metadata_frame(number))
            clients.append((reader, writer))
        await until_waiting(server, "PLAINTEXT", 2)

        def set_limit(limit: int) -> None:
            config = server.cluster.config.with_dynamic(1, {"max.connections": str(limit)})
            server.cluster.set_config(config)

        set_limit(3)
        for reader, _writer in clients[1:]:
            await read_frame(reader)
        clock: Any = server.clock
        clock.time_ms += 1000
        clients[1][1].write(metadata_frame(4))
        await read_frame(clients[1][0])
        set_limit(1)

        for number in (0, 2):
            with suppress(ConnectionError):
                assert await clients[number][0].read() == b""
        clients[1][1].write(metadata_frame(5))
        await read_frame(clients[1][0])
        for _reader, writer in clients:
            writer.close()
    assert [entry["reason"] for entry in logs] == ["max.connections (1) exceeded"] * 2


async def test_the_listener_of_brokers_takes_the_place_of_a_connection_of_another() -> None:
    config = {"inter.broker.listener.name": "INSIDE", "max.connections": "1"}
    server = Server(make_cluster(1, **config), ManualClock())
    broker = server.cluster.brokers[1]
    with capture_logs() as logs:
        ports = {}
        for name in ("INSIDE", "OUTSIDE"):
            ports[name] = await server.listen(broker, "127.0.0.1", 0, ListenerSecurity(name))
            broker.endpoints[name] = Address("127.0.0.1", ports[name])
        server.start()
        async with asyncio.timeout(60):
            outside = await connect_and_ask(ports["OUTSIDE"])
            inside = [await connect_and_ask(ports["INSIDE"]) for _ in range(2)]
            with suppress(ConnectionError):
                assert await outside[0].read() == b""
            waiting, writer = await connect(ports["OUTSIDE"])
            writer.write(metadata_frame(3))
            response = asyncio.ensure_future(read_frame(waiting))
            await until_waiting(server, "OUTSIDE", 1)
            for _reader, client in inside:
                client.close()
            await response
            for client in (outside[1], writer):
                client.close()
            await server.stop()
    assert [entry["reason"] for entry in logs if "reason" in entry] == [
        "max.connections (1) exceeded"
    ]


async def test_a_stop_completes_requests_in_flight_first() -> None:
    responses = []

    async with serving() as (server, port, _):
        server.cluster.create_topic("t", [(1,)], {})
        reader, writer = await connect(port)
        writer.write(fetch_frame(9, "t", max_wait_ms=10_000_000))
        await assert_serves(port)

        stopping = asyncio.ensure_future(server.stop())
        responses.append(await read_frame(reader))
        assert await reader.read() == b""
        writer.close()
        await stopping
    assert int.from_bytes(responses[0][:4], "big") == 9
