"""The controller's event queue: mutations take time, and later events wait for them.

The controller processes events one after the other, in the order of their arrival. An event that
creates, adds or deletes N partitions takes N x `controller.mutation.time.us`; all others take no
time. The metadata changes when the time of an event is over. An event with much to change takes
turns with requests, and the next event waits for its end.

Sources: Kafka's `ControllerEventManager` (metrics) and `QuorumController` (events' names).
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from broker.errors import Refusal
from broker.pending_response import PendingResponse
from broker.timers import Timer, Timers
from protocol.errors import ErrorCode
from protocol.pacing import InTurns, at_once, may_pause
from quotas.metrics import Measurement

GROUP = "ControllerEventManager"
SAMPLES_MAX = 1028
"""Number of recent events in the metrics of times: Kafka's reservoir size."""
TIMED_OUT = Refusal(ErrorCode.REQUEST_TIMED_OUT, None)
"""The controller did not finish within the request's timeout; the work stays in the queue."""


ResponseT = TypeVar("ResponseT")


def is_over(timeout_ms: int) -> bool:
    """Return whether a request's timeout is over when it arrives: nothing is done for it.

    A KRaft controller drops an event whose deadline is not later than its arrival.
    """
    return timeout_ms <= 0


_QUANTILES = (0.5, 0.95, 0.99, 1.0)


def _no_mutations() -> int:
    return 0


@dataclass(slots=True, eq=False)
class ControllerEvent:
    """One event for the controller.

    `apply(now_ms)` changes the metadata; it is called when the processing time is over.
    `mutation_count()` is the number of partitions that it creates, adds or deletes; it is called
    when the processing begins. Times are in microseconds, since a partition may take a fraction of
    a millisecond.
    """

    name: str
    apply: Callable[[int], None]
    mutation_count: Callable[[], int] = _no_mutations
    arrived_us: int = 0
    started_us: int | None = None
    done_us: int = 0
    mutations: int | None = None
    """What `mutation_count` was when the processing began; None before that."""


class ControllerQueue:
    """Events in the order they arrived; the first one is being processed."""

    def __init__(
        self,
        timers: Timers,
        mutation_time_us: int,
        in_turns: InTurns = at_once,
    ) -> None:
        """`in_turns` runs what a timer has to do for an event, in turns with requests."""
        self._timers = timers
        self._in_turns = in_turns
        self.mutation_time_us = mutation_time_us
        """Time for one partition; a change counts from the next event whose processing begins."""
        self.pending_topics: set[str] = set()
        """Names of topics whose creation is in the queue."""
        self._events: deque[ControllerEvent] = deque()
        self._free_at_us = 0
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES_MAX)

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[ControllerEvent]:
        return iter(self._events)

    @property
    def is_immediate(self) -> bool:
        """Whether an event that is submitted now is processed at once."""
        return not self._events and not self.mutation_time_us

    @may_pause
    def submit(self, event: ControllerEvent, now_ms: int) -> None:
        """Add an event to the queue; process it at once if it need not wait."""
        if self.is_immediate:
            event.apply(now_ms)
            return
        event.arrived_us = now_ms * 1000
        self._events.append(event)
        if len(self._events) == 1:
            self._start(event)
            if event.done_us <= event.arrived_us:
                self._finish(now_ms)
            else:
                self._schedule_finish(event)

    @may_pause
    def submit_request(
        self,
        name: str,
        now_ms: int,
        timeout_ms: int,
        *,
        mutation_count: Callable[[], int] = _no_mutations,
        finish: Callable[[int], ResponseT],
        timed_out: Callable[[int], ResponseT],
    ) -> ResponseT | PendingResponse:
        """Process a client's request; return its response, or a `PendingResponse`.

        `finish(now_ms)` does the work and returns the response. `timed_out(now_ms)` returns the
        response that is sent if the work is not done `timeout_ms` after now; the work stays in the
        queue. Kafka's `DelayedCreatePartitions`, `DelayedDeleteTopics` and `DelayedElectLeader`.
        """
        if self.is_immediate:
            return finish(now_ms)
        timer: Timer | None = None

        def expire(now_ms: int) -> None:
            self._in_turns(lambda: pending.attempt(lambda: pending.complete(timed_out(now_ms))))

        def apply(now_ms: int) -> None:
            def respond() -> None:
                response = finish(now_ms)
                self._timers.cancel(timer)
                pending.complete(response)

            pending.attempt(respond)

        pending = PendingResponse(
            on_cancel=lambda: self._timers.cancel(timer), on_force_complete=expire
        )
        self.submit(ControllerEvent(name, apply, mutation_count), now_ms)
        if pending.is_done:
            response: ResponseT = pending.response
            return response
        if timeout_ms <= 0:
            return timed_out(now_ms)
        timer = self._timers.schedule(now_ms + timeout_ms, expire)
        return pending

    def remaining_ms(self, now_ms: int) -> float:
        """Return the time until all events in the queue are processed."""
        if not self._events:
            return 0.0
        first, *waiting = self._events
        count = sum(event.mutation_count() for event in waiting)
        first_ms = max(0.0, first.done_us / 1000 - now_ms)
        return first_ms + count * self.mutation_time_us / 1000

    def measurements(self, _now_ms: int) -> Iterator[Measurement]:
        """`EventQueueSize`; `EventQueueTimeMs` and `EventQueueProcessingTimeMs` of past events."""
        yield Measurement(GROUP, "EventQueueSize", {}, len(self._events))
        if not self._samples:
            return
        names = ("EventQueueTimeMs", "EventQueueProcessingTimeMs")
        for name, times in zip(names, zip(*self._samples, strict=True), strict=True):
            ordered = sorted(times)
            for quantile in _QUANTILES:
                value = ordered[round(quantile * (len(ordered) - 1))]
                yield Measurement(GROUP, name, {"quantile": str(quantile)}, value)

    @may_pause
    def _start(self, event: ControllerEvent) -> None:
        event.started_us = max(event.arrived_us, self._free_at_us)
        event.mutations = event.mutation_count()
        event.done_us = event.started_us + event.mutations * self.mutation_time_us

    def _schedule_finish(self, event: ControllerEvent) -> None:
        self._timers.schedule(-(-event.done_us // 1000), self._finish)

    @may_pause
    def _finish(self, now_ms: int) -> None:
        """Apply the first event, whose time is over, and start the next."""
        self._in_turns(lambda: self._apply_first(now_ms))

    @may_pause
    def _apply_first(self, now_ms: int) -> None:
        event = self._events[0]
        try:
            # The event is still in the queue, so events that it submits run after all others.
            event.apply(now_ms)
        except Exception:
            self._end(event)
            raise
        # A reset of the cluster ends it with another exception, and this queue with it.
        self._end(event)

    @may_pause
    def _end(self, event: ControllerEvent) -> None:
        """Remove the first event, and start the next."""
        self._events.popleft()
        self._free_at_us = event.done_us
        started_us = event.started_us or 0
        self._samples.append(
            ((started_us - event.arrived_us) / 1000, (event.done_us - started_us) / 1000)
        )
        if self._events:
            self._start(self._events[0])
            self._schedule_finish(self._events[0])
