"""A broker without sockets that handles one amplifying frame, and what that took.

Times are CPU times of the thread, so another process on the machine changes none of them.
"""

import gc
import re
import sys
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from broker.cluster.cluster import Cluster
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.dispatch.turns import TURN_NS
from broker.request.context import RequestContext
from broker.responses import ConnectionOutput
from broker.routes import ROUTES
from broker.serve import CLIENT_APIS
from protocol import codec
from protocol.pacing import take_turns
from tests.attack.attacked_cluster import GROUPS, PARTITIONS, QUOTAS, preparation_frames
from tests.broker.cluster_builder import ALL_VERSIONS, make_cluster
from tests.broker.connection_driver import NOW_MS

FRAME_BYTES_MAX = 104_857_600


@dataclass(frozen=True, slots=True)
class Cost:
    """What one frame took."""

    turns: int
    """How often the event loop had the control until the response was there."""
    longest_turn_ms: float
    cpu_ms: float
    response_bytes: int
    close_reason: str | None


class AttackedBroker:
    """A cluster with much to describe, and one connection to it."""

    def __init__(
        self,
        partitions: int = PARTITIONS,
        groups: int = GROUPS,
        quotas: int = QUOTAS,
        **overrides: str,
    ) -> None:
        self.cluster: Cluster = make_cluster(1, **ALL_VERSIONS, **overrides)
        self.bugs: list[str] = []
        self.dispatcher = Dispatcher(self.cluster, self._report_bug, self.now_ns)
        self.dispatcher.turns.call_later = self._call_later
        self._scheduled: list[Callable[[], None]] = []
        self.response = b""
        """The last response frame."""
        for api_key in CLIENT_APIS:
            ROUTES[api_key].load()  # as a broker does in the background after its start
        for frame in preparation_frames(partitions, groups, quotas):
            cost = self.handle(frame)
            assert cost.close_reason is None, cost.close_reason
            assert cost.response_bytes, "the preparation was not answered"

    def now_ns(self) -> int:
        """Return the time of the clock that ends turns."""
        return time.thread_time_ns()

    def _report_bug(self, error: BaseException, context: RequestContext) -> None:
        self.bugs.append(f"API {context.api_key} v{context.api_version}: {error!r}")

    def _call_later(self, _delay_s: float, callback: Callable[[], None]) -> None:
        self._scheduled.append(callback)

    def handle(
        self, frame: bytes, now_ms: int = NOW_MS, change: Callable[[], None] | None = None
    ) -> Cost:
        """Handle a frame on a new connection until nothing is left to do now.

        `change`, which costs nothing, comes when nothing is left for the first time.
        """
        return self._handle(frame, now_ms, change)

    def carry_out(self, work: Callable[[], None]) -> Cost:
        """Carry out what a timer does until nothing is left to do now."""
        return self._handle(b"", NOW_MS, None, work)

    def _handle(
        self,
        frame: bytes,
        now_ms: int,
        change: Callable[[], None] | None,
        work: Callable[[], None] | None = None,
    ) -> Cost:
        ready: list[None] = []
        connection = Connection(
            self.dispatcher,
            broker_id=1,
            connection_id=1,
            client_host="127.0.0.1",
            frame_bytes_max=FRAME_BYTES_MAX,
            on_ready=lambda: ready.append(None),
        )
        outputs: list[ConnectionOutput] = []
        steps: list[int] = []

        def step(work: Callable[[], object]) -> None:
            began_ns = time.thread_time_ns()
            result = work()
            steps.append(time.thread_time_ns() - began_ns)
            if isinstance(result, ConnectionOutput):
                outputs.append(result)

        step(work or (lambda: connection.receive(frame, now_ms)))
        while True:
            if ready:
                ready.pop()
                step(lambda: connection.resume(now_ms))
            elif self._scheduled:
                step(self._scheduled.pop(0))
            elif (self.cluster.timers.next_due_ms() or now_ms + 1) <= now_ms:
                step(lambda: self.cluster.timers.run_due(now_ms))
            elif change is not None:
                change()
                change = None
            else:
                break
        step(connection.lose)
        written = [output.write for output in outputs]
        self.response = b"".join(written)
        return Cost(
            turns=len(steps),
            longest_turn_ms=max(steps) / 1e6,
            cpu_ms=sum(steps) / 1e6,
            response_bytes=sum(map(len, written)),
            close_reason=next((o.close_reason for o in outputs if o.close_reason), None),
        )


class PausingBroker(AttackedBroker):
    """Its requests pause wherever they may."""

    def __init__(self) -> None:
        self._clock = count(0, TURN_NS)
        super().__init__(partitions=1, groups=0, quotas=0)

    def now_ns(self) -> int:
        """See `AttackedBroker.now_ns`."""
        return next(self._clock)


class _CountingTurn:
    """Counts the calls of functions between two places where a request may pause."""

    is_long = True
    response_bytes_max = FRAME_BYTES_MAX
    no_pause_depth = 0

    def __init__(self) -> None:
        self.calls = self.calls_max = 0

    def pause(self) -> None:
        self.calls_max = max(self.calls_max, self.calls)
        self.calls = 0

    def count(self, _frame: FrameType, event: str, _argument: Any) -> None:
        self.calls += event in {"call", "c_call"}


def longest_stretch(broker: AttackedBroker, frame: bytes) -> int:
    """Return the most calls of functions between two places where the request may pause."""
    # The loops of a short body do not pause; here those of every body do.
    with (
        patch.object(broker.dispatcher.turns, "call_later", None),
        patch.object(codec, "LONG_BODY_BYTES", 0),
    ):
        return most_calls_in_one_go(lambda: broker.handle(frame))


def most_calls_in_one_go(work: Callable[[], object]) -> int:
    """Return the most calls of functions between two places where work may pause."""
    turn = _CountingTurn()

    def counted() -> None:
        take_turns(turn)
        sys.setprofile(turn.count)
        try:
            work()
        finally:
            sys.setprofile(None)

    copy_context().run(counted)
    turn.pause()
    return turn.calls_max


def peak_bytes(work: Callable[[], None]) -> int:
    """Return by how much the resident memory of this process grew at most during `work`."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _status_bytes("VmRSS")
    work()
    return _status_bytes("VmHWM") - before


def _status_bytes(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024
