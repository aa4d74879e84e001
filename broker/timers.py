"""Timers: one heap of callbacks, no clock.

The server sleeps until `next_due_ms`; a test or a moved clock calls `run_due` itself.
All delayed actions of the broker (a Fetch that waits, a session timeout, the end of a mute) are
timers here, so moving the clock runs all of them in order.

Work that repeats is a `PeriodicTask`. It knows when it could next have something to do, so that
`Timers.skip_idle` can leave out the periods in which it has nothing to do: a year has 3 million
checks for transactions that time out.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from protocol.pacing import may_pause

TimerCallback = Callable[[int], None]
"""Called with `now_ms`, the time at which it runs (not the time it was due)."""


class Timer:
    """One scheduled callback; cancel it through `Timers.cancel`."""

    __slots__ = ("callback", "due_ms")

    def __init__(self, due_ms: int, callback: TimerCallback) -> None:
        self.due_ms = due_ms
        self.callback: TimerCallback | None = callback


class Timers:
    """A priority queue of timers; equal times fire in the order they were scheduled."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._scheduled_count = 0
        self._cancelled_count = 0
        self.waiting_tasks: dict[Timer, PeriodicTask] = {}
        """The periodic tasks that wait for their next period, by the timer of it."""
        self.soon_calls: deque[TimerCallback] = deque()
        """The calls of `call_soon` that have not run yet; only it adds to them."""
        self.latest_ms = 0
        """The latest time that is known: when callbacks last ran, or a timeout began."""
        # The server's alarm: called when a new timer is due before all others.
        self.on_earlier: Callable[[int], None] | None = None
        # The server runs what `call_soon` schedules itself, with `run_soon`.
        self.on_soon: Callable[[], None] | None = None
        self.on_advance: Callable[[int], None] | None = None
        """Moves the clock by so many ms after the current request, if there is a server."""

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled_count

    def schedule(self, due_ms: int, callback: TimerCallback) -> Timer:
        """Schedule one call of `callback(now_ms)`, at or after `due_ms`."""
        timer = Timer(due_ms, callback)
        heapq.heappush(self._heap, (due_ms, self._scheduled_count, timer))
        self._scheduled_count += 1
        if self.on_earlier is not None and self._heap[0][2] is timer:
            self.on_earlier(due_ms)
        return timer

    def deadline_ms(self, now_ms: int, timeout_ms: int) -> int:
        """Return when a timeout ends that begins now.

        A request that has waited for its turn brings the time when it was read. What a later one
        or a timer has done since then comes before it, as in Kafka, which reads the clock when it
        handles a request.
        """
        self.latest_ms = max(now_ms, self.latest_ms)
        return self.latest_ms + timeout_ms

    @may_pause
    def call_soon(self, now_ms: int, callback: TimerCallback) -> None:
        """Schedule one call as `schedule` does for `now_ms`; all of them share a timer.

        A call cannot be cancelled.
        """
        self.soon_calls.append(callback)
        if len(self.soon_calls) == 1:
            self._plan_soon(now_ms)

    def _plan_soon(self, now_ms: int) -> None:
        if self.on_soon is not None:
            self.on_soon()
        else:
            self.schedule(now_ms, self.run_soon)

    def run_soon(self, now_ms: int) -> None:
        """Run the calls of `call_soon`; those that they schedule come later."""
        soon = self.soon_calls
        self.latest_ms = now_ms
        try:
            for _ in range(len(soon)):
                soon.popleft()(now_ms)
        finally:
            if soon:
                self._plan_soon(now_ms)

    def cancel(self, timer: Timer | None) -> None:
        """Cancel a timer; ignore None and one that fired or was cancelled before."""
        if timer is None or timer.callback is None:
            return
        timer.callback = None
        self._cancelled_count += 1
        # Cancelled entries are popped at the top. If most entries are cancelled, the heap is
        # rebuilt. Otherwise a client that heartbeats a thousand times a second would grow it.
        if self._cancelled_count > 64 and self._cancelled_count * 2 > len(self._heap):
            self._rebuild()

    def _rebuild(self) -> None:
        """Drop the entries of cancelled timers."""
        self._heap = [entry for entry in self._heap if entry[2].callback is not None]
        heapq.heapify(self._heap)
        self._cancelled_count = 0

    def clear(self) -> None:
        """Cancel all timers; the clock may go back now."""
        self.latest_ms = 0
        for _due_ms, _count, timer in self._heap:
            timer.callback = None
        self._heap.clear()
        self.waiting_tasks.clear()
        self.soon_calls.clear()
        self._cancelled_count = 0

    def next_due_ms(self) -> int | None:
        """Return when the earliest timer is due, or None."""
        heap = self._heap
        while heap:
            due_ms, _number, timer = heap[0]
            if timer.callback is None:
                heapq.heappop(heap)
                self._cancelled_count -= 1
            else:
                return due_ms
        return None

    def run_due(self, now_ms: int) -> int:
        """Run every timer due at or before `now_ms`, earliest first; return how many ran.

        Timers that the callbacks schedule for `now_ms` or earlier run in the same call.
        """
        ran_count = 0
        self.latest_ms = now_ms
        while (due_ms := self.next_due_ms()) is not None and due_ms <= now_ms:
            timer = heapq.heappop(self._heap)[2]
            callback, timer.callback = timer.callback, None
            assert callback is not None
            callback(now_ms)
            ran_count += 1
        return ran_count

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do but periods in which periodic tasks would do nothing."""
        if self.soon_calls:
            return False
        for _due_ms, _number, timer in self._heap:
            if timer.callback is not None:
                task = self.waiting_tasks.get(timer)
                if task is None or task.next_work_ms() is not None:
                    return False
        return True

    def skip_idle(self, until_ms: int) -> None:
        """Leave out the periods up to `until_ms` in which periodic tasks would do nothing.

        They wait for a later period then, as if they had run. Call it again after each `run_due`:
        what a timer does may give work to a task, so no task skips a period that comes after the
        next timer. Nothing else may happen before the clock has moved.
        """
        work_ms = until_ms + 1  # nothing but idle periods comes before
        idle: list[tuple[int, PeriodicTask]] = []
        while (due_ms := self.next_due_ms()) is not None and due_ms < work_ms:
            timer = self._heap[0][2]
            task = self.waiting_tasks.get(timer)
            if task is None:
                work_ms = due_ms
                break
            next_ms = task.next_work_ms()
            if next_ms is not None:
                work_ms = min(work_ms, task.period_from(due_ms, next_ms))
            if due_ms < work_ms:
                del self.waiting_tasks[timer]
                self.cancel(timer)
                idle.append((due_ms, task))
        plan = [
            # Also a period that begins with the work, but comes before it, has nothing to do.
            (task.period_from(due_ms, max(work_ms, due_ms + 1)), due_ms, task)
            for due_ms, task in idle
        ]
        # Of tasks that are due together, the one that has waited for longer comes first.
        plan.sort(key=lambda entry: (entry[0] - entry[2].interval_ms, -entry[1]))
        for next_due_ms, _due_ms, task in plan:
            task.wait_until(next_due_ms)


class SteppedWork:
    """Work in short steps, between which requests are handled, a millisecond apart.

    `step(now_ms)` does a step and returns whether more is left to do. After one that raises, the
    work goes on when it is planned again.
    """

    def __init__(self, timers: Timers, step: Callable[[int], bool]) -> None:
        self._timers = timers
        self._step = step
        self._timer: Timer | None = None

    @classmethod
    def of(cls, timers: Timers, steps: Iterable[None]) -> "SteppedWork":
        """Return work that takes a step for each element, which is made by the step."""
        iterator = iter(steps)
        return cls(timers, lambda _now_ms: _advance(iterator))

    def plan(self, now_ms: int) -> None:
        """Have the next step done in a millisecond, unless it is planned."""
        if self._timer is None:
            self._timer = self._timers.schedule(now_ms + 1, self.go_on)

    def go_on(self, now_ms: int) -> None:
        """Do a step now, and plan the next one if more is left."""
        self._timer = None
        if self._step(now_ms):
            self.plan(now_ms)

    def stop(self) -> None:
        """Do no more steps, until they are planned again."""
        self._timers.cancel(self._timer)
        self._timer = None


def _advance(steps: Iterator[None]) -> bool:
    """Do a step; return whether more may be left."""
    for _ in steps:
        return True
    return False


class PeriodicTask:
    """Work that is done every `interval_ms`, at a fixed rate as in Kafka's `KafkaScheduler`.

    `run(now_ms)` begins the work and returns its turns, between which requests are handled: the
    first one at once, each other one a millisecond later. `next_work_ms()` returns the earliest
    time at which `run` could have something to do if nothing else happens until then, or None if
    there is no such time. It may be too early, but not too late.
    """

    def __init__(
        self,
        timers: Timers,
        interval_ms: int,
        run: Callable[[int], Iterable[None]],
        next_work_ms: Callable[[], int | None],
    ) -> None:
        self._timers = timers
        self.interval_ms = interval_ms
        self._run = run
        self.next_work_ms = next_work_ms
        self.is_started = False
        """Whether it is going to run, or has turns left."""
        self._timer: Timer | None = None
        """The one of the next period."""
        self._turns: SteppedWork | None = None
        """Those that are left of the current period."""
        self._period_ms = 0
        """When the current period began, or is going to begin."""

    def start(self, due_ms: int) -> None:
        """Run for the first time at `due_ms`; ignore a task that is started."""
        if not self.is_started:
            self.is_started = True
            self.wait_until(due_ms)

    def stop(self) -> None:
        """Do not run again; turns of work that has begun are left out."""
        self.is_started = False
        if self._timer is not None:
            self._timers.waiting_tasks.pop(self._timer, None)
            self._timers.cancel(self._timer)
        if self._turns is not None:
            self._turns.stop()

    def period_from(self, due_ms: int, time_ms: int) -> int:
        """Return the first of the periods from `due_ms` on that begins at `time_ms` or later."""
        return due_ms + max(0, -((due_ms - time_ms) // self.interval_ms)) * self.interval_ms

    def wait_until(self, due_ms: int) -> None:
        """Wait for the period that begins at `due_ms`; the task does not wait for another."""
        self._period_ms = due_ms
        self._timer = self._timers.schedule(due_ms, self._begin)
        self._timers.waiting_tasks[self._timer] = self

    @may_pause
    def _begin(self, now_ms: int) -> None:
        assert self._timer is not None
        del self._timers.waiting_tasks[self._timer]
        turns = iter(self._run(now_ms))
        self._turns = SteppedWork(self._timers, partial(self._take_turn, turns))
        self._turns.go_on(now_ms)

    def _take_turn(self, turns: Iterator[None], now_ms: int) -> bool:
        has_more = False
        try:
            has_more = _advance(turns)
        finally:  # a bug in one period must not stop the others
            if self.is_started and not has_more:
                self.wait_until(self._next_period_ms(now_ms))
        return self.is_started and has_more

    def _next_period_ms(self, now_ms: int) -> int:
        return self.period_from(self._period_ms, now_ms + 1)


class DueTask(PeriodicTask):
    """Work that is done when it is due, where Kafka looks for it all the time.

    It looks for work at the time of `next_work_ms()`, and `interval_ms` after the last look at the
    latest. So `interval_ms` is not more than the time after which new work can become due.
    """

    def period_from(self, due_ms: int, time_ms: int) -> int:
        """Return the first time from `due_ms` and `time_ms` on: any may be a period."""
        return max(due_ms, time_ms)

    def _next_period_ms(self, now_ms: int) -> int:
        work_ms = self.next_work_ms()
        latest_ms = now_ms + self.interval_ms
        return max(now_ms + 1, latest_ms if work_ms is None else min(work_ms, latest_ms))
