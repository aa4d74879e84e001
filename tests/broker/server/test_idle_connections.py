"""Idle connections are closed at their time, and aborted if they stay."""

import asyncio
from collections.abc import MutableMapping, Sequence
from typing import Any, cast

from broker.faults import fault_rule
from broker.server.client_protocol import ClientProtocol
from broker.server.idle_connections import start_idle_check
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.connection_driver import metadata_frame
from tests.broker.server.tcp_client import connect, read_frame, serving

IDLE_MS_MAX = 4_000
DAY_MS = 86_400_000


class FakeProtocol:
    """A connection that notes each call that closes it; the second time aborts it."""

    def __init__(self, last_active_ms: int, *, is_waiting: bool = False) -> None:
        self.last_active_ms = last_active_ms
        self.is_waiting = is_waiting
        self.closes: list[int] = []

    @property
    def is_aborted(self) -> bool:
        return len(self.closes) > 1

    def close_idle(self, idle_ms: int) -> None:
        self.closes.append(idle_ms)


def advance(
    protocols: list[FakeProtocol], *, skips: bool = True, idle_ms_max: int = IDLE_MS_MAX
) -> int:
    """Let a day pass; return how many checks there were."""
    cluster = make_cluster(**{"connections.max.idle.ms": str(idle_ms_max)})
    start_idle_check(cluster, cast("list[ClientProtocol]", protocols), NOW_MS)
    timers, count = cluster.timers, 0
    while True:
        if skips:
            timers.skip_idle(NOW_MS + DAY_MS)
        due_ms = timers.next_due_ms()
        if due_ms is None or due_ms > NOW_MS + DAY_MS:
            return count
        count += timers.run_due(due_ms)


def test_a_connection_is_closed_when_it_is_idle_for_the_time_and_aborted_if_it_stays() -> None:
    protocols = [
        FakeProtocol(NOW_MS),
        FakeProtocol(NOW_MS + 1),
        FakeProtocol(NOW_MS, is_waiting=True),
    ]
    assert advance(protocols) == 4
    assert [protocol.closes for protocol in protocols] == [[4000, 4500], [4000, 4500], []]


def test_a_connection_that_is_active_again_is_closed_at_its_new_time() -> None:
    cluster = make_cluster(**{"connections.max.idle.ms": str(IDLE_MS_MAX)})
    protocols = [FakeProtocol(NOW_MS)]
    start_idle_check(cluster, cast("list[ClientProtocol]", protocols), NOW_MS)
    protocols[0].last_active_ms = NOW_MS + 3_999
    protocols.append(FakeProtocol(NOW_MS + 3_998))
    cluster.timers.run_due(NOW_MS + IDLE_MS_MAX)
    assert [protocol.closes for protocol in protocols] == [[], []]

    due_times = []
    while not protocols[0].closes:
        due_ms = cluster.timers.next_due_ms()
        assert due_ms is not None
        due_times.append(due_ms - NOW_MS)
        cluster.timers.run_due(due_ms)

    assert due_times == [7_998, 7_999]
    assert [protocol.closes for protocol in protocols] == [[4_000], [4_000]]


def test_all_checks_without_skipping_close_the_same_connections() -> None:
    protocol = FakeProtocol(NOW_MS + 7_777)
    advance([protocol], skips=False)
    skipped = FakeProtocol(NOW_MS + 7_777)
    assert advance([skipped]) == 2
    assert protocol.closes == skipped.closes == [4_000, 4_500]


def test_connections_may_be_idle_for_good() -> None:
    protocol = FakeProtocol(NOW_MS)
    assert advance([protocol], idle_ms_max=-1) == 0
    assert protocol.closes == []


def idle_reasons(logs: Sequence[MutableMapping[str, Any]]) -> list[str]:
    return [line["reason"] for line in logs if line.get("reason", "").startswith("idle")]


async def test_a_moved_clock_closes_a_connection_at_its_time() -> None:
    async with serving(**{"connections.max.idle.ms": "600000"}) as (server, port, logs):
        server.timer_driver.advance(1_000)
        reader, writer = await connect(port)
        writer.write(metadata_frame(1))
        await read_frame(reader)
        server.timer_driver.advance(599_999)
        assert idle_reasons(logs) == []
        server.timer_driver.advance(1)
        assert idle_reasons(logs) == ["idle for 600000 ms"]
        assert await reader.read() == b""
        writer.close()


async def test_a_connection_is_idle_from_the_response_that_its_client_has_waited_for() -> None:
    async with serving(**{"connections.max.idle.ms": "600000"}) as (server, port, logs):
        rule = fault_rule(api="Metadata", delay_ms=400_000)
        server.dispatcher.faults.add(rule, server.clock.now_ms())
        reader, writer = await connect(port)
        timer_count = len(server.cluster.timers)
        writer.write(metadata_frame(1))
        while len(server.cluster.timers) == timer_count:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)
        server.timer_driver.advance(400_000)
        await read_frame(reader)
        server.timer_driver.advance(599_999)
        assert idle_reasons(logs) == []
        server.timer_driver.advance(1)
        assert idle_reasons(logs) == ["idle for 600000 ms"]
        writer.close()
