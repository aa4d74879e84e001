"""Idle connections are closed at the next check, and aborted at the one after that."""

from typing import cast

from broker.server.client_protocol import ClientProtocol
from broker.server.idle_connections import start_idle_check
from tests.broker.cluster_builder import NOW_MS, make_cluster

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


def advance(protocols: list[FakeProtocol], *, skips: bool, idle_ms_max: int = IDLE_MS_MAX) -> int:
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


def test_a_connection_is_closed_once_it_is_idle_and_aborted_if_it_stays() -> None:
    protocols = [
        FakeProtocol(NOW_MS),
        FakeProtocol(NOW_MS + 1),
        FakeProtocol(NOW_MS, is_waiting=True),
    ]
    assert advance(protocols, skips=True) == 3
    assert [protocol.closes for protocol in protocols] == [[4000, 4500, 5000], [4499, 4999], []]


def test_all_checks_without_skipping_close_the_same_connections_first() -> None:
    protocol = FakeProtocol(NOW_MS + 7_777)
    assert advance([protocol], skips=False) == DAY_MS // 500
    skipped = FakeProtocol(NOW_MS + 7_777)
    assert advance([skipped], skips=True) == 2
    assert protocol.closes[:2] == skipped.closes


def test_connections_may_be_idle_for_good() -> None:
    protocol = FakeProtocol(NOW_MS)
    assert advance([protocol], skips=True, idle_ms_max=-1) == 0
    assert protocol.closes == []
