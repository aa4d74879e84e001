"""KIP-612: connections beyond `max.connection.creation.rate` wait, a bounded number, in order."""

import asyncio
from collections.abc import Callable
from typing import Any

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.server.accept_queue import AcceptQueue
from broker.server.client_protocol import EARLY_BYTES_HIGH
from broker.server.server import Server
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import metadata_frame
from tests.broker.server.tcp_client import assert_serves, connect, read_frame, serving

RATE_KEY = "max.connection.creation.rate"
START_MS = 1_700_000_000_000
BURST = 10
"""Connections that a rate of 1 accepts at once."""


def set_rate(cluster: Cluster, rate: int) -> None:
    cluster.set_config(cluster.config.with_dynamic(1, {RATE_KEY: str(rate)}))


class Arrivals:
    """Connections that join the queue of broker 1, and when each was accepted."""

    def __init__(self, **overrides: str) -> None:
        self.cluster = make_cluster(1, **overrides)
        self.place_count = 1_000_000
        self.queue = AcceptQueue(self.cluster, 1, "INSIDE", self.has_place)
        self.accepted: list[tuple[int, int]] = []
        """The number and the time in ms of each, in the order of their acceptance."""
        self._count = 0

    def has_place(self, _queue: AcceptQueue) -> bool:
        return len(self.accepted) < self.place_count

    def join(self, now_ms: int) -> tuple["Arrival", str | None]:
        arrival = Arrival(self, self._count)
        self._count += 1
        return arrival, self.queue.join(arrival, START_MS + now_ms)

    def run(self, until_ms: int) -> None:
        for now_ms in range(0, until_ms + 1, 100):
            self.cluster.timers.run_due(START_MS + now_ms)


class Arrival:
    def __init__(self, arrivals: Arrivals, number: int) -> None:
        self._arrivals = arrivals
        self.number = number

    def accept(self, now_ms: int) -> None:
        self._arrivals.accepted.append((self.number, now_ms - START_MS))


def test_connections_beyond_the_rate_are_accepted_in_order_with_a_single_timer() -> None:
    arrivals = Arrivals(**{RATE_KEY: "1"})
    timer_count = len(arrivals.cluster.timers)
    for _ in range(BURST + 5):
        assert arrivals.join(0)[1] is None
    assert len(arrivals.cluster.timers) == timer_count + 1

    arrivals.run(5000)

    assert arrivals.accepted[BURST:] == [(BURST + n, 1000 * (n + 1)) for n in range(5)]
    assert len(arrivals.cluster.timers) == timer_count
    assert not arrivals.queue


def test_no_connection_waits_without_a_rate() -> None:
    arrivals = Arrivals()
    timer_count = len(arrivals.cluster.timers)

    for _ in range(1000):
        assert arrivals.join(0)[1] is None

    assert len(arrivals.accepted) == 1000
    assert len(arrivals.cluster.timers) == timer_count


def test_only_the_oldest_waits_after_the_rate_was_raised() -> None:
    arrivals = Arrivals(**{RATE_KEY: "1"})
    for _ in range(BURST + 20):
        arrivals.join(0)
    set_rate(arrivals.cluster, 1_000_000)

    arrivals.run(1000)

    assert arrivals.accepted[BURST:] == [(BURST + n, 1000) for n in range(20)]


def test_a_connection_that_is_lost_is_neither_waited_for_nor_counted() -> None:
    arrivals = Arrivals(**{RATE_KEY: "1"})
    waiting = [arrivals.join(0)[0] for _ in range(BURST + 20)][BURST:]

    for arrival in waiting[1:-1]:
        arrivals.queue.leave(arrival, START_MS)
    arrivals.queue.leave(waiting[0], START_MS + 100)
    arrivals.queue.leave(waiting[0], START_MS + 100)
    assert len(arrivals.queue) == 1

    arrivals.run(3000)
    # 11 connections in 11 s, as if the others had not come.
    assert arrivals.accepted[BURST:] == [(BURST + 19, 1000)]


def test_connections_behind_one_that_is_lost_are_accepted_at_once_if_the_rate_allows_it() -> None:
    arrivals = Arrivals(**{RATE_KEY: "1"})
    waiting = [arrivals.join(0)[0] for _ in range(BURST + 3)][BURST:]
    set_rate(arrivals.cluster, 1_000_000)

    arrivals.queue.leave(waiting[0], START_MS + 100)

    assert arrivals.accepted[BURST:] == [(BURST + 1, 100), (BURST + 2, 100)]


def test_more_connections_than_the_backlog_are_refused() -> None:
    arrivals = Arrivals(**{RATE_KEY: "1", "socket.listen.backlog.size": "3"})
    refusals = [arrivals.join(0)[1] for _ in range(BURST + 6)]

    assert refusals == [None] * (BURST + 4) + ["socket.listen.backlog.size (3) reached"] * 2
    arrivals.run(1000)
    assert arrivals.join(1000)[1] is None


def test_the_oldest_waits_for_a_place_and_the_others_for_the_oldest() -> None:
    arrivals = Arrivals()
    arrivals.place_count = 2
    joined = [arrivals.join(0) for _ in range(5)]
    assert [refusal for _, refusal in joined] == [None] * 5
    assert len(arrivals.queue) == 3

    arrivals.queue.use_place(START_MS + 50)
    assert len(arrivals.queue) == 3
    arrivals.place_count = 4
    arrivals.queue.use_place(START_MS + 100)

    assert arrivals.accepted == [(0, 0), (1, 0), (2, 100), (3, 100)]
    arrivals.queue.leave(joined[4][0], START_MS + 200)
    assert not arrivals.queue


def test_a_connection_waits_for_the_rate_and_then_for_a_place() -> None:
    arrivals = Arrivals(**{RATE_KEY: "1"})
    arrivals.place_count = BURST
    for _ in range(BURST + 2):
        arrivals.join(0)

    arrivals.place_count = BURST + 5
    arrivals.queue.use_place(START_MS)
    assert len(arrivals.accepted) == BURST
    arrivals.place_count = BURST
    arrivals.run(1500)
    assert len(arrivals.accepted) == BURST
    arrivals.place_count = BURST + 5
    arrivals.queue.use_place(START_MS + 1700)

    assert arrivals.accepted[BURST:] == [(BURST, 1700)]


# Over TCP ----------------------------------------------------------------------------------------


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - no event reports it
        await asyncio.sleep(0)


async def fill(server: Server, port: int, count: int) -> list[asyncio.StreamWriter]:
    """Open connections until a number of them waits; return all of them."""
    queue = server.accept_queue(1, "PLAINTEXT")
    writers = []
    while len(queue) < count:
        writers.append((await connect(port))[1])
        await until(lambda: len(server.protocols) == len(writers))
    return writers


def move(server: Server, duration_ms: int) -> None:
    clock: Any = server.clock
    clock.time_ms += duration_ms
    server.cluster.timers.run_due(clock.time_ms)


async def test_a_request_that_was_sent_early_is_answered_when_its_connection_is_accepted() -> None:
    async with serving(**{RATE_KEY: "1"}) as (server, port, _):
        writers = await fill(server, port, 1)
        reader, writer = await connect(port)
        frames = metadata_frame(1) + metadata_frame(2)
        writer.write(frames)
        queue = server.accept_queue(1, "PLAINTEXT")
        await until(lambda: len(queue) == 2 and server._held_bytes_total == len(frames))
        move(server, 1000)
        assert server._held_bytes_total == len(frames)

        move(server, 1000)

        for correlation_id in (1, 2):
            assert int.from_bytes((await read_frame(reader))[:4], "big") == correlation_id
        assert server._held_bytes_total == 0
        for client in (*writers, writer):
            client.close()


async def test_little_is_read_from_a_connection_that_waits() -> None:
    async with serving(**{RATE_KEY: "1"}) as (server, port, _):
        writers = await fill(server, port, 1)
        protocol = server.protocols[-1]
        data = b"x" * EARLY_BYTES_HIGH
        protocol.data_received(data)
        assert protocol._transport.is_reading()
        protocol.data_received(b"x")
        assert not protocol._transport.is_reading()
        for client in writers:
            client.close()


async def test_clients_that_leave_give_up_their_place() -> None:
    async with serving(**{RATE_KEY: "1"}) as (server, port, _):
        for _ in range(3):
            writers = await fill(server, port, 30)
            for writer in writers:
                writer.close()
            await until(lambda: not server.protocols)
            assert not server.accept_queue(1, "PLAINTEXT")
            move(server, 11_000)
        await assert_serves(port)


async def test_a_full_backlog_closes_further_connections_with_one_log_line() -> None:
    async with serving(**{RATE_KEY: "1", "socket.listen.backlog.size": "2"}) as (
        server,
        port,
        logs,
    ):
        writers = await fill(server, port, 3)
        reader, writer = await connect(port)
        assert await reader.read() == b""
        for client in (*writers, writer):
            client.close()
        reasons = [entry["reason"] for entry in logs if "reason" in entry]
    assert reasons == ["socket.listen.backlog.size (2) reached"]


async def test_connections_that_wait_are_not_counted_by_the_limit_of_their_address() -> None:
    limits = {"max.connections.per.ip": str(BURST + 1)}
    async with serving(**{RATE_KEY: "1"}, **limits) as (server, port, logs):
        writers = await fill(server, port, 5)
        set_rate(server.cluster, 1000)

        move(server, 1000)
        await until(lambda: len(server.protocols) == BURST + 1)

        for client in writers:
            client.close()
        reasons = [entry["reason"] for entry in logs if "reason" in entry]
    assert reasons == [f"max.connections.per.ip ({BURST + 1}) reached"] * 4


async def test_a_connection_that_waits_is_not_idle() -> None:
    keys = {RATE_KEY: "1", "connections.max.idle.ms": "4000"}
    async with serving(**keys) as (server, port, logs):
        writers = await fill(server, port, 8)

        for _ in range(7):
            move(server, 1000)
        await asyncio.sleep(0)

        assert len(server.accept_queue(1, "PLAINTEXT")) == 1
        assert server.protocols[-1].connection is None
        idle = [entry["peer"] for entry in logs if "idle" in entry.get("reason", "")]
        # The first ones sent nothing after they were accepted; the newest four are not idle.
        ports = [client.get_extra_info("sockname")[1] for client in writers]
        assert idle[:BURST] == [f"127.0.0.1:{port}" for port in ports[:BURST]]
        assert {f"127.0.0.1:{port}" for port in ports[-4:]}.isdisjoint(idle)
        for client in writers:
            client.close()


async def test_nothing_waits_after_a_restart_of_the_broker() -> None:
    async with serving(**{RATE_KEY: "1"}) as (server, port, _):
        timer_count = len(server.cluster.timers)
        writers = await fill(server, port, 20)

        failover.stop_broker(server.cluster, 1, server.clock.now_ms())
        assert not server.accept_queue(1, "PLAINTEXT")
        await until(lambda: not server.protocols)
        assert len(server.cluster.timers) == timer_count
        failover.start_broker(server.cluster, 1, server.clock.now_ms())

        for _ in range(BURST):
            await assert_serves(port)
        for client in writers:
            client.close()


async def test_nothing_waits_after_a_reset() -> None:
    async with serving(**{RATE_KEY: "1"}) as (server, port, _):
        writers = await fill(server, port, 20)

        server.reset()
        assert not server.accept_queue(1, "PLAINTEXT")
        await until(lambda: not server.protocols)

        for _ in range(BURST):
            await assert_serves(port)
        for client in writers:
            client.close()


async def test_a_connection_that_waits_is_closed_when_the_server_stops() -> None:
    async with serving(**{RATE_KEY: "1"}) as (server, port, _):
        writers = await fill(server, port, 3)
    assert not server.protocols
    for client in writers:
        client.close()


def test_a_listener_has_its_own_rate_besides_that_of_its_broker() -> None:
    arrivals = Arrivals()
    key = f"listener.name.inside.{RATE_KEY}"
    arrivals.cluster.set_config(arrivals.cluster.config.with_dynamic(1, {key: "1"}))
    outside = AcceptQueue(arrivals.cluster, 1, "OUTSIDE", arrivals.has_place)

    for _ in range(BURST + 2):
        arrivals.join(0)
    for number in range(BURST + 2):
        assert outside.join(Arrival(arrivals, 100 + number), START_MS) is None

    assert len(arrivals.queue) == 2
    assert len(outside) == 0
    arrivals.run(60_000)
    waits = [now_ms for number, now_ms in arrivals.accepted if number < 100]
    assert waits[:BURST] == [0] * BURST
    assert len(waits) == BURST + 2
    assert waits[-1] > waits[-2] > 0
