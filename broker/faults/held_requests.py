"""The requests that rules hold until they are released."""

from collections.abc import Callable
from itertools import islice
from typing import Protocol

from broker.timers import Timers

HELD_MAX = 1_000
"""Requests that are held at a time, by all rules together."""
HELD_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of these requests, and of the responses to those that are held after they were handled."""


class HeldRequest:
    """A request that waits; `go_on(now_ms)` continues with it."""

    __slots__ = ("_holder", "go_on", "size_bytes")

    def __init__(self, holder: "Holder", size_bytes: int, go_on: Callable[[int], None]) -> None:
        self._holder = holder
        self.size_bytes = size_bytes
        self.go_on = go_on

    def leave(self) -> bool:
        """Leave those that its rule holds; return False if it has left them before."""
        if self not in self._holder.held:
            return False
        del self._holder.held[self]
        return True


class Holder(Protocol):
    """A rule, as far as it holds requests."""

    held: dict[HeldRequest, None]
    is_released: bool


class HeldRequests:
    """The requests that the rules of a table hold."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self.count = 0
        self.size_bytes = 0

    def obstacle(self, size_bytes: int) -> str | None:
        """Return why a request of this size cannot be held, or None."""
        if self.count >= HELD_MAX:
            return f"{HELD_MAX} requests are held"
        if self.size_bytes + size_bytes > HELD_BYTES_MAX:
            return f"the requests that are held have more than {HELD_BYTES_MAX} bytes"
        return None

    def hold(self, holder: Holder, size_bytes: int, go_on: Callable[[int], None]) -> HeldRequest:
        """Hold a request behind all others of its rule."""
        held = HeldRequest(holder, size_bytes, go_on)
        holder.held[held] = None
        self.count += 1
        self.size_bytes += size_bytes
        return held

    def forget(self, held: HeldRequest) -> None:
        """Hold a request no more: it goes on, or its client is gone."""
        if held.leave():
            self.count -= 1
            self.size_bytes -= held.size_bytes

    def release(self, holder: Holder, now_ms: int, count: int | None = None) -> int:
        """Have the oldest `count` requests of a rule go on after this call; return how many.

        None stands for all, and for those that the rule would hold later.
        """
        holder.is_released |= count is None
        released = list(islice(holder.held, count))
        for held in released:
            self.forget(held)
            self._timers.call_soon(now_ms, held.go_on)
        return len(released)
