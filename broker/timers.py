"""Timers: one heap of callbacks, no clock.

The server sleeps until `next_due_ms`; a test or a moved clock calls `run_due` itself.
All delayed actions of the broker (a Fetch that waits, a session timeout, the end of a mute) are
timers here, so moving the clock runs all of them in order.
"""

import heapq
from collections.abc import Callable

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
        self.latest_ms = 0
        """The time at which callbacks last ran."""
        # The server's alarm: called when a new timer is due before all others.
        self.on_earlier: Callable[[int], None] | None = None

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

    def cancel(self, timer: Timer | None) -> None:
        """Cancel a timer; ignore None and one that fired or was cancelled before."""
        if timer is None or timer.callback is None:
            return
        timer.callback = None
        self._cancelled_count += 1
        # Cancelled entries are popped at the top. If most entries are cancelled, the heap is
        # rebuilt. Otherwise a client that heartbeats a thousand times a second would grow it.
        if self._cancelled_count > 64 and self._cancelled_count * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].callback is not None]
            heapq.heapify(self._heap)
            self._cancelled_count = 0

    def clear(self) -> None:
        """Cancel all timers."""
        for _due_ms, _count, timer in self._heap:
            timer.callback = None
        self._heap.clear()
        self._cancelled_count = 0

    def next_due_ms(self) -> int | None:
        """Return when the earliest timer is due, or None."""
        heap = self._heap
        while heap and heap[0][2].callback is None:
            heapq.heappop(heap)
            self._cancelled_count -= 1
        return heap[0][0] if heap else None

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
