"""One heap of events: nothing in a world happens but by an event, and time is the event's."""

import heapq
from collections.abc import Callable
from math import ceil

START_MS = 1_700_000_000_000


class Event:
    """Something that will happen, unless it is cancelled."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Don't let it happen."""
        self.callback = None


class Schedule:
    """Events by time; those of the same millisecond happen in the order they were asked for.

    It is the clock of the broker's shell as well, and what the shell uses of an asyncio loop.
    """

    def __init__(self) -> None:
        self.time_ms = START_MS
        self.event_count = 0
        self._heap: list[tuple[int, int, Event]] = []

    def at(self, time_ms: int, callback: Callable[[], None]) -> Event:
        """Have something happen at a time, or now if that has passed."""
        event = Event(callback)
        self.event_count += 1
        heapq.heappush(self._heap, (max(time_ms, self.time_ms), self.event_count, event))
        return event

    def after(self, delay_ms: int, callback: Callable[[], None]) -> Event:
        """Have something happen so much later."""
        return self.at(self.time_ms + delay_ms, callback)

    def run_until(self, time_ms: int) -> None:
        """Let everything happen up to and at that time."""
        heap = self._heap
        while heap and heap[0][0] <= time_ms:
            due_ms, _, event = heapq.heappop(heap)
            callback = event.callback
            if callback is not None:
                self.time_ms = due_ms
                event.callback = None
                callback()
        self.time_ms = time_ms

    # A broker's clock ------------------------------------------------------------------------

    def now_ms(self) -> int:
        """The time of the event that happens now."""
        return self.time_ms

    def wait_s(self, delay_ms: int) -> float | None:
        """Seconds until `delay_ms` have passed."""
        return delay_ms / 1000

    def move_to(self, time_ms: int) -> None:
        """Nobody moves this clock but the events."""
        raise AssertionError("a world's clock is not moved by hand")

    # An asyncio loop -------------------------------------------------------------------------

    def call_soon(self, callback: Callable[[], None]) -> Event:
        """After what happens now."""
        return self.at(self.time_ms, callback)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Event:
        """As asyncio's; whole milliseconds, rounded up."""
        return self.at(self.time_ms + ceil(round(delay_s * 1000, 3)), callback)
