from collections.abc import Callable
from functools import partial

import pytest

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition
from broker.fetch.partition_read import FetchParams, WaitingBytes
from broker.fetch.waiting_fetch import WaitingFetch, WaitingPartition
from protocol.pacing import at_once
from tests.broker.cluster.stored_records import append
from tests.broker.cluster_builder import NOW_MS, make_cluster

WAIT_MS = 100


class Waiting:
    """A request that waits at one partition, and what its parts have been asked."""

    def __init__(self, is_ready: Callable[[], bool] | None = None) -> None:
        self.cluster: Cluster = make_cluster(1)
        self.topic = self.cluster.create_topic("t", [(1,)], {})
        self.cached = CachedPartition("t", None, 0, 0, 1000)
        self.responses_ms: list[int] = []
        params = FetchParams(1, 1000, 1)
        self.fetch = WaitingFetch(
            self.cluster,
            NOW_MS + WAIT_MS,
            partial(WaitingBytes, self.cluster, params, ()),
            self._respond,
            at_once,
            is_ready,
        )
        log = self.topic.partitions[0].log
        self.fetch.watch(WaitingPartition(self.fetch, self.cached, log))

    def _respond(self, now_ms: int, deliver: Callable[[object], None]) -> None:
        self.responses_ms.append(now_ms)
        deliver(b"response")

    def append(self) -> None:
        append(self.cluster, self.topic, 100)


def test_a_record_ends_the_wait_after_the_request_that_appends_it() -> None:
    waiting = Waiting()

    waiting.append()
    waiting.append()
    assert not waiting.responses_ms
    waiting.cluster.timers.run_due(NOW_MS + WAIT_MS)

    assert len(waiting.responses_ms) == 1
    assert not waiting.topic.partitions[0].log.waiters


@pytest.mark.parametrize("end", ["cancel", "force_complete", "time"])
def test_a_wait_that_ends_leaves_the_log_and_the_timers(end: str) -> None:
    waiting = Waiting()
    pending, timers = waiting.fetch.pending, waiting.cluster.timers

    if end == "cancel":
        pending.cancel()
    elif end == "force_complete":
        pending.force_complete(NOW_MS)
    else:
        timers.run_due(NOW_MS + WAIT_MS)

    assert len(waiting.responses_ms) == (end != "cancel")
    assert not waiting.topic.partitions[0].log.waiters
    timers.run_due(NOW_MS + 2 * WAIT_MS)
    assert len(waiting.responses_ms) == (end != "cancel")


def test_what_changes_during_a_check_is_looked_at_again_when_it_is_not_ready() -> None:
    checks = []

    def is_ready() -> bool:
        checks.append(True)
        if len(checks) == 1:
            waiting.append()
        return len(checks) > 1

    waiting = Waiting(is_ready)
    waiting.append()
    waiting.cluster.timers.run_due(NOW_MS)

    assert len(checks) == 2
    assert len(waiting.responses_ms) == 1


def test_a_request_that_is_not_ready_waits_on() -> None:
    waiting = Waiting(is_ready=lambda: False)

    waiting.append()
    waiting.cluster.timers.run_due(NOW_MS)

    assert not waiting.responses_ms
    assert waiting.topic.partitions[0].log.waiters
