"""Virtual time: a heap of events. The time is that of the current event."""

import heapq
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from math import ceil

START_MS = 1_700_000_000_000


class Event:
    """A scheduled call that can be cancelled."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Cancel the event."""
        self.callback = None


class Schedule:
    """Events by time; events of the same millisecond run in the order of their scheduling.

    It has the methods of an asyncio loop that the broker's shell uses.
    """

    def __init__(self) -> None:
        self.time_ms = START_MS
        self.event_count = 0
        self._heap: list[tuple[int, int, Event]] = []

    def at(self, time_ms: int, callback: Callable[[], None]) -> Event:
        """Schedule a call at a time, or now if that has passed."""
        event = Event(callback)
        self.event_count += 1
        heapq.heappush(self._heap, (max(time_ms, self.time_ms), self.event_count, event))
        return event

    def after(self, delay_ms: int, callback: Callable[[], None]) -> Event:
        """Schedule a call after a delay."""
        return self.at(self.time_ms + delay_ms, callback)

    def run_until(self, time_ms: int) -> None:
        """Run all events up to and at that time."""
        heap = self._heap
        while heap and heap[0][0] <= time_ms:
            due_ms, _, event = heapq.heappop(heap)
            callback = event.callback
            if callback is not None:
                self.time_ms = due_ms
                event.callback = None
                callback()
        self.time_ms = time_ms

    # An asyncio loop: a call runs in a copy of the context in which it was scheduled -----------

    def call_soon(self, callback: Callable[..., None], *arguments: object) -> Event:
        """Schedule a call after the current event."""
        return self.at(self.time_ms, partial(copy_context().run, callback, *arguments))

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Event:
        """Schedule a call like asyncio; the delay is rounded up to milliseconds."""
        due_ms = self.time_ms + ceil(round(delay_s * 1000, 3))
        return self.at(due_ms, partial(copy_context().run, callback))
