"""Timers run in the event loop when they are due, or when the clock is moved."""

import asyncio

import broker.handlers  # noqa: F401 - registers every API
from broker.clock import BrokerClock, ClockMode
from broker.dispatch.turns import Turns
from broker.server.server import Server
from broker.server.timer_driver import TimerDriver
from broker.timers import Timers
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import fetch_frame, metadata_frame
from tests.broker.server.tcp_client import connect, read_frame, serving


class Connection:
    """A connection that is resumed, and is ready again as often as it has more to do."""

    def __init__(self, driver: TimerDriver, more: int) -> None:
        self.driver, self.more, self.resumed_ms = driver, more, list[int]()

    def resume_connection(self, now_ms: int) -> None:
        self.resumed_ms.append(now_ms)
        if self.more:
            self.more -= 1
            self.driver.make_ready(self)


def make_driver() -> tuple[TimerDriver, Timers, BrokerClock]:
    clock, timers = BrokerClock(ClockMode.STANDING), Timers()
    return TimerDriver(timers, clock, Turns(1 << 20)), timers, clock


def test_a_connection_that_a_timer_makes_ready_responds_at_the_time_of_the_timer() -> None:
    driver, timers, clock = make_driver()
    connection, started_ms = Connection(driver, more=2), clock.now_ms()
    timers.schedule(started_ms + 5, lambda _now_ms: driver.make_ready(connection))

    assert driver.advance(10) == started_ms + 10

    assert connection.resumed_ms == [started_ms + 5] * 3


def test_a_timer_that_fails_does_not_stop_the_others() -> None:
    driver, timers, clock = make_driver()
    seen: list[int] = []

    def fail(_now_ms: int) -> None:
        raise ValueError("a bug")

    for callback in (fail, seen.append):
        timers.schedule(clock.now_ms() + 5, callback)
        timers.call_soon(clock.now_ms(), callback)
    driver.advance(10)

    assert len(seen) == 2


async def test_no_timer_runs_after_a_stop() -> None:
    driver, timers, clock = make_driver()
    driver.loop = asyncio.get_running_loop()
    seen: list[int] = []
    driver.start()
    timers.schedule(clock.now_ms(), seen.append)
    driver.stop()
    for _ in range(3):
        await asyncio.sleep(0)

    assert not seen


async def test_advancing_the_clock_runs_due_timers_in_order_at_their_times() -> None:
    async with serving() as (server, port, _):
        started_ms = server.clock.now_ms()
        seen: list[tuple[str, int]] = []

        def tick(now_ms: int) -> None:
            seen.append(("tick", now_ms - started_ms))
            server.cluster.timers.schedule(now_ms + 20_000, tick)

        server.cluster.timers.schedule(started_ms + 20_000, tick)
        once = started_ms + 30_000
        server.cluster.timers.schedule(once, lambda now_ms: seen.append(("x", now_ms - started_ms)))
        assert server.timer_driver.advance(65_000) == started_ms + 65_000
        assert seen == [("tick", 20_000), ("x", 30_000), ("tick", 40_000), ("tick", 60_000)]

        # A pending response is also written before the call returns.
        reader, writer = await connect(port)
        server.cluster.create_topic("a", [(1,)], {})
        writer.write(fetch_frame(1, "a", max_wait_ms=1_000) + metadata_frame(2))
        while not any(  # noqa: ASYNC110 - no event reports it
            p.connection and p.connection.is_waiting for p in server._protocols
        ):
            await asyncio.sleep(0)
        server.timer_driver.advance(1_000)
        assert not any(p.connection and p.connection.is_waiting for p in server._protocols)
        assert [int.from_bytes((await read_frame(reader))[:4], "big") for _ in "12"] == [1, 2]
        writer.close()


async def test_timers_fire_sooner_on_a_faster_clock() -> None:
    clock = BrokerClock(ClockMode.STANDING)
    server = Server(make_cluster(1), clock)
    await server.listen(server.cluster.brokers[1], "127.0.0.1", 0)
    server.start()
    rung = asyncio.Event()
    server.cluster.timers.schedule(clock.now_ms() + 3_600_000, lambda _now_ms: rung.set())
    # A timer that is due now fires without a delay.
    due = asyncio.Event()
    server.cluster.timers.schedule(clock.now_ms(), lambda _now_ms: due.set())
    await asyncio.wait_for(due.wait(), 10)
    assert not rung.is_set()
    clock.set_mode(ClockMode.SCALED, 1_000_000)
    server.timer_driver.reset_alarm()
    await asyncio.wait_for(rung.wait(), 10)
    await server.stop()
