"""Requests that take turns: one that has much to do lets other connections in between.

Each request runs in its own greenlet. Its loops call `paced` (`protocol/pacing.py`), which looks
at the time and, when the turn is over, returns control to the event loop in the middle of the
handler. The request goes on later, on the same thread. Its connection waits for it as for any
pending response, so responses keep the order of their requests.
"""

from collections import deque
from collections.abc import Callable

from greenlet import GreenletExit, getcurrent, greenlet

from broker.clock import perf_ns
from broker.pending_response import PendingResponse
from broker.responses import DispatchResult, PendingFrame, unchanged
from protocol.pacing import take_turns

TURN_NS = 3_000_000
"""How long a request works before others are served."""

LONG_NS = TURN_NS // 4
"""A request that has worked for that long may be one of those with much to do."""

REST_FACTOR = 12
"""How many times as long as its turn a request rests, while other connections send requests.

They get twelve thirteenths of the time then; all requests that take turns get the rest together.
"""

STARTED_MAX = 64
"""Requests between two turns; with more, new ones wait before they begin.

What a request has decoded until the end of its first turn is all that each of them holds.
"""

IDLE_WORKERS_MAX = 4

CallLater = Callable[[float, Callable[[], None]], object]


class _Request:
    """One request that takes turns."""

    __slots__ = ("is_cancelled", "is_done", "pending", "respond", "result", "waited_ns", "worker")

    def __init__(self, respond: Callable[[], DispatchResult]) -> None:
        self.respond = respond
        self.result: DispatchResult = None
        self.pending: PendingResponse | None = None
        """What its connection waits for, from the end of its first turn on."""
        self.is_cancelled = False
        self.is_done = False
        self.waited_ns = 0
        """How long it has waited for its turns since it began."""
        self.worker: greenlet | None = None
        """Where it runs once it has begun."""

    @property
    def is_dropped(self) -> bool:
        """Whether the client is gone before the request has begun."""
        return self.is_cancelled and self.worker is None

    def cancel(self) -> None:
        """Not begin, if it has not begun; a request that has begun is carried out, as in Kafka."""
        self.is_cancelled = True


class Turns:
    """The requests of one cluster that take turns, oldest first: the first one has the turns."""

    def __init__(self, response_bytes_max: int, now_ns: Callable[[], int] = perf_ns) -> None:
        """`response_bytes_max` bounds the response of a request that works for long."""
        self.response_bytes_max = response_bytes_max
        self._now_ns = now_ns
        self.call_later: CallLater | None = None
        """Schedules a call after some seconds; while it is None, a request runs in one go."""
        self.read_count = 0
        """Reads from all sockets since the last turn; the server counts them."""
        self._waiting: deque[_Request] = deque()
        self._running: _Request | None = None
        self._idle_workers: list[greenlet] = []
        self._began_ns = 0
        self._is_unlimited = False
        self._has_alarm = False

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_long(self) -> bool:
        """Whether the running request has worked for a while already."""
        running = self._running
        return running is not None and (
            running.waited_ns > 0 or self._now_ns() - self._began_ns > LONG_NS
        )

    @property
    def waited_ns(self) -> int:
        """How long the running request has waited for its turns since it began."""
        return 0 if self._running is None else self._running.waited_ns

    def pause(self) -> None:
        """End the turn of the running request when its time is over.

        A callback that a request schedules runs in a copy of the request's context, so it comes
        here too; it has no turn.
        """
        request = self._running
        if self._is_unlimited or request is None:
            return
        now_ns = self._now_ns()
        if now_ns - self._began_ns >= TURN_NS:
            assert request.worker is not None
            request.worker.parent.switch()
            request.waited_ns += self._began_ns - now_ns

    def run(self, respond: Callable[[], DispatchResult], *, is_long: bool) -> DispatchResult:
        """Return what `respond` returns, or a pending response if it takes several turns.

        `is_long` requests begin when no other request is between two turns.
        """
        if self.call_later is None or self._running is not None:
            return respond()
        request = _Request(respond)
        if len(self._waiting) < (1 if is_long else STARTED_MAX):
            self._give_turn(request)
            if request.is_done:
                return request.result
        self._waiting.append(request)
        self._schedule(0)
        request.pending = PendingResponse(request.cancel, lambda _now_ms: self._finish(request))
        return PendingFrame(request.pending, unchanged)

    def run_work(self, work: Callable[[], None]) -> None:
        """Carry out what a timer does for a request that has waited; it may be long, too."""
        self.run(work, is_long=False)

    def close(self) -> None:
        """Carry out all requests and end the workers: the broker stops.

        A worker that waits for a request holds the cluster, and no garbage collector frees it.
        """
        self.call_later = None
        self.finish_all()
        while self._idle_workers:
            self._idle_workers.pop().throw(GreenletExit)

    def finish_all(self) -> None:
        """Carry out all requests now: the clock is moved, or the broker stops."""
        while self._waiting:
            self._finish(self._waiting[0])

    def clear(self) -> None:
        """End all requests where they are: the cluster begins again."""
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            if request.worker is not None:
                request.worker.throw(GreenletExit)
            elif request.pending is not None:
                request.pending.complete(None)  # for the admin port; connections are closed

    def _finish(self, request: _Request) -> None:
        """Carry a request out at once: the broker stops."""
        if request not in self._waiting:
            return
        self._waiting.remove(request)
        if request.is_dropped:
            return
        self._is_unlimited = True
        try:
            self._give_turn(request)
        finally:
            self._is_unlimited = False
        _deliver(request)

    def _give_turn(self, request: _Request) -> None:
        """Have a request work until its next pause or its end."""
        before, self._running = self._running, request
        self._began_ns = self._now_ns()
        try:
            if request.worker is None:
                request.worker = self._idle_workers.pop() if self._idle_workers else self._hire()
            request.worker.switch()
        finally:
            self._running = before
        if request.is_done and len(self._idle_workers) < IDLE_WORKERS_MAX:
            assert request.worker is not None
            self._idle_workers.append(request.worker)

    def _hire(self) -> greenlet:
        """Return a greenlet that carries out one request after the other: a new one costs 40 µs."""

        def work() -> None:
            take_turns(self)
            while True:
                request = self._running
                assert request is not None
                request.result = request.respond()
                request.is_done = True
                # An idle worker does not hold the frame and the response of its last request.
                del request
                main.switch()

        main = getcurrent()
        return greenlet(work, main)

    def _schedule(self, delay_s: float) -> None:
        if not self._has_alarm and self.call_later is not None:
            self._has_alarm = True
            self.call_later(delay_s, self._next_turn)

    def _next_turn(self) -> None:
        """Give the oldest request a turn, then a rest if other connections have work."""
        self._has_alarm = False
        while self._waiting and self._waiting[0].is_dropped:
            self._waiting.popleft()
        if not self._waiting:
            return
        request = self._waiting[0]
        try:
            self._give_turn(request)
        finally:
            if request.worker is None or request.worker.dead or request.is_done:
                self._waiting.popleft()
            turn_ns = self._now_ns() - self._began_ns
            has_others = self.read_count > 0
            self.read_count = 0
            if self._waiting:
                self._schedule(turn_ns * REST_FACTOR / 1e9 if has_others else 0)
        if request.is_done:
            _deliver(request)


def _deliver(request: _Request) -> None:
    """Complete the pending response, now or when the handler's own pending response arrives."""
    result, pending = request.result, request.pending
    assert pending is not None
    if not isinstance(result, PendingFrame):
        pending.complete(result)
        return
    inner, encode = result
    if request.is_cancelled:
        inner.cancel()
    elif inner.is_done:
        pending.complete(encode(inner.response))
    else:
        pending.follow(inner)
        inner.attach(lambda response: pending.complete(encode(response)))
