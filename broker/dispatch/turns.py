"""Requests that take turns: one that has much to do lets other connections in between.

Each request runs in its own greenlet. Its loops call `paced` (`protocol/pacing.py`), which looks
at the time and, when the turn is over, returns control to the event loop in the middle of the
handler. The request goes on later, on the same thread. Its connection waits for it as for any
pending response, so responses keep the order of their requests.

Between two turns the event loop serves whatever socket is ready, so a request of others waits for
one turn at most. The next turn comes at once if there was none. Otherwise it comes when others have
sent nothing for a millisecond, or have used several times as much CPU as the turn. To wait that
long is what an anticipatory disk scheduler does: a client that sends its next request when it has
the response seems to have nothing to do right after each response.
"""

from collections.abc import Callable

from greenlet import GreenletExit, getcurrent, greenlet

from broker.clock import perf_ns
from broker.dispatch.turn_queue import TurnKind, TurnQueue, TurnRequest
from broker.pending_response import PendingResponse
from broker.responses import DispatchResult, PendingFrame, unchanged
from protocol.pacing import PauseError, may_pause, take_turns

TURN_NS = 3_000_000
"""How long a request works before others are served."""

LONG_NS = TURN_NS // 4
"""A request that has worked for that long may be one of those with much to do."""

PATIENCE_S = 0.001
"""How long others must have sent nothing; timers of event loops are no more precise."""

PATIENCE_FACTOR_MAX = 4
"""How many times longer it is while other processes of the machine use the CPUs.

It is as many times longer as a turn took longer than the CPU that it used: clients wait as well.
"""

OTHERS_CPU_FACTOR = 5
"""How many times the CPU of a turn others may use before the next one.

They get five sixths of the CPU, if they need it; all requests that take turns share the rest.
"""

OTHERS_TIME_FACTOR = 8
"""How many times the CPU of a turn the next one waits at most, for others that use little CPU."""

FIRST_TURNS_MAX = 2
"""Requests that pause in the turn that they have as they arrive, in an iteration of the loop."""

IDLE_WORKERS_MAX = 4

CallLater = Callable[[float, Callable[[], None]], object]


class Turns:
    """The requests of one cluster that take turns."""

    def __init__(
        self,
        response_bytes_max: int,
        now_ns: Callable[[], int] = perf_ns,
        queued_bytes_max: int = -1,
        cpu_ns: Callable[[], int] | None = None,
    ) -> None:
        """`response_bytes_max` bounds the response of a request that works for long.

        `cpu_ns` measures what turns and other requests use, by default in the time of `now_ns`.
        With `queued_bytes_max` bytes of frames that wait `is_full` is True; -1 is no limit.
        """
        self.response_bytes_max = response_bytes_max
        self._now_ns = now_ns
        self._cpu_ns = cpu_ns or now_ns
        self.call_later: CallLater | None = None
        """Schedules a call after some seconds; while it is None, a request runs in one go."""
        self.on_room: Callable[[], None] | None = None
        """Is called when a request has left the queue, and it is not full."""
        self.read_count = 0
        """Reads from all sockets since the last look at them; the server counts them."""
        self._queue = TurnQueue(queued_bytes_max)
        self._running: TurnRequest | None = None
        self._idle_workers: list[greenlet] = []
        self._began_ns = 0
        self._first_turns = 0
        """Requests that have paused in their first turn since the last look."""
        self._turn_cpu_ns = 0
        """What the last turn used."""
        self._patience_s = PATIENCE_S
        self._ended_ns = self._ended_cpu_ns = 0
        """When the last turn ended, by both clocks."""
        self.no_pause_depth = 0
        """How many `no_pause` the running request is in."""
        self._is_unlimited = False
        self._has_alarm = False

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def is_full(self) -> bool:
        """Whether so many bytes wait that no more large requests should be read."""
        return self._queue.is_full

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

    @may_pause
    def pause(self) -> None:
        """End the turn of the running request when its time is over.

        A callback that a request schedules runs in a copy of the request's context, so it comes
        here too; it has no turn.

        Raises:
            PauseError: the turn is over within `no_pause`.
        """
        request = self._running
        if self._is_unlimited or request is None:
            return
        now_ns = self._now_ns()
        if now_ns - self._began_ns >= TURN_NS:
            if self.no_pause_depth:
                raise PauseError("a pause within no_pause()")
            assert request.worker is not None
            request.worker.parent.switch()
            request.waited_ns += self._began_ns - now_ns

    @may_pause
    def run(
        self,
        respond: Callable[[], DispatchResult],
        frame_bytes: int = 0,
        kind: TurnKind = TurnKind.LIGHT,
    ) -> DispatchResult:
        """Return what `respond` returns, or a pending response if it takes several turns.

        The first turn of a client's request is now, unless too many are between two turns or have
        begun right now. `frame_bytes` is 0 for a short request.
        """
        if self.call_later is None or self._running is not None:
            return respond()
        request = TurnRequest(respond, frame_bytes, kind)
        queue = self._queue
        is_of_client = kind <= TurnKind.HEAVY
        if is_of_client and self._first_turns < FIRST_TURNS_MAX and queue.may_begin(kind):
            self._give_turn(request)
            if request.is_done:
                return request.result
            self._first_turns += 1
            if not queue:
                self._end_turn(TURN_NS)
        queue.add(request, self._now_ns())
        self._schedule(0)
        request.pending = PendingResponse(
            lambda: self._cancel(request), lambda _now_ms: self._finish(request)
        )
        return PendingFrame(request.pending, unchanged)

    def _cancel(self, request: TurnRequest) -> None:
        """Drop a request whose client is gone, unless it has begun: that is what Kafka does."""
        request.is_cancelled = True
        if request.worker is None and request in self._queue:
            self._remove(request)
            request.respond = None  # it holds the frame

    def _remove(self, request: TurnRequest) -> None:
        self._queue.remove(request)
        if self.on_room is not None and not self._queue.is_full:
            self.on_room()

    @may_pause
    def run_work(self, work: Callable[[], None]) -> None:
        """Carry out what a timer does for a request that has waited; it may be long, too."""
        self.run(work)

    @may_pause
    def close(self) -> None:
        """Carry out all requests and end the workers: the broker stops.

        A worker that waits for a request holds the cluster, and before Python 3.15 no garbage
        collector frees it.
        """
        self.call_later = self.on_room = None
        self.finish_all()
        while self._idle_workers:
            self._idle_workers.pop().throw(GreenletExit)

    @may_pause
    def finish_all(self) -> None:
        """Carry out all requests now: the clock is moved, or the broker stops."""
        while self._queue:
            self._finish(next(iter(self._queue)))

    @may_pause
    def clear(self) -> None:
        """End all requests where they are: the cluster begins again."""
        for request in self._queue.clear():
            if request.worker is not None:
                request.worker.throw(GreenletExit)
            elif request.pending is not None:
                request.pending.complete(None)  # for the admin port; connections are closed
        if self.on_room is not None:
            self.on_room()

    @may_pause
    def _finish(self, request: TurnRequest) -> None:
        """Carry a request out at once: the broker stops."""
        if request not in self._queue:
            return
        self._remove(request)
        self._is_unlimited = True
        try:
            self._give_turn(request)
        finally:
            self._is_unlimited = False
        _deliver(request)

    def _give_turn(self, request: TurnRequest) -> None:
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
                assert request.respond is not None
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
            self.call_later(delay_s, self._look)

    @may_pause
    def _look(self) -> None:
        """Give the next turn, unless others have work and have not had their share."""
        self._has_alarm = False
        self._first_turns = 0
        has_others = self.read_count > 0
        self.read_count = 0
        if has_others and self._queue and not self._have_had_their_share():
            self._schedule(self._patience_s)
        else:
            self._next_turn()

    def _have_had_their_share(self) -> bool:
        """Return whether others have had enough since the last turn, for what it has used."""
        turn_ns = self._turn_cpu_ns
        return (
            self._cpu_ns() - self._ended_cpu_ns >= turn_ns * OTHERS_CPU_FACTOR
            or self._now_ns() - self._ended_ns >= turn_ns * OTHERS_TIME_FACTOR
        )

    @may_pause
    def _next_turn(self) -> None:
        """Give the request that is due a turn."""
        request = self._queue.next_request()
        if request is None:
            return
        began_cpu_ns = self._cpu_ns()
        try:
            self._give_turn(request)
        finally:
            self._end_turn(self._cpu_ns() - began_cpu_ns)
            if request.worker is None or request.worker.dead or request.is_done:
                self._remove(request)
            else:
                self._queue.charge(request, self._turn_cpu_ns, self._ended_ns)
            if self._queue:
                self._schedule(0)
        if request.is_done:
            _deliver(request)

    def _end_turn(self, cpu_ns: int) -> None:
        """Note what a turn has used; what comes from now on is of others."""
        self._turn_cpu_ns = cpu_ns
        self._ended_ns, self._ended_cpu_ns = self._now_ns(), self._cpu_ns()
        stretch = (self._ended_ns - self._began_ns) / max(1, cpu_ns)
        self._patience_s = PATIENCE_S * min(max(1.0, stretch), PATIENCE_FACTOR_MAX)
        self.read_count = 0


@may_pause
def _deliver(request: TurnRequest) -> None:
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
