"""The session timer of a member."""

from collections.abc import Callable

from broker.timers import Timer, Timers
from protocol.pacing import may_pause


class SessionTimer:
    """Call `expire(now_ms)` once when the timeout of the last `restart` has passed.

    A heartbeat only moves the deadline. The timer in the heap stays, and is scheduled again if it
    fires too early, so that heartbeats cost no heap operations.
    """

    __slots__ = ("_deadline_ms", "_expire", "_timer", "_timers")

    def __init__(self, timers: Timers, expire: Callable[[int], None]) -> None:
        self._timers = timers
        self._expire = expire
        self._timer: Timer | None = None
        self._deadline_ms = 0

    def restart(self, now_ms: int, timeout_ms: int) -> None:
        """Set the expiry to `timeout_ms` from now."""
        self._deadline_ms = self._timers.deadline_ms(now_ms, timeout_ms)
        if self._timer is not None:
            if self._timer.due_ms <= self._deadline_ms:
                return
            self._timers.cancel(self._timer)
        self._timer = self._timers.schedule(self._deadline_ms, self._run)

    def stop(self) -> None:
        """Stop the timer until the next `restart`."""
        self._timers.cancel(self._timer)
        self._timer = None

    @may_pause
    def _run(self, now_ms: int) -> None:
        fired, self._timer = self._timer, None
        assert fired is not None
        if fired.due_ms < self._deadline_ms:
            # Not at `now_ms`, even if that is later: sessions expire in the order of deadlines.
            self._timer = self._timers.schedule(self._deadline_ms, self._run)
        else:
            self._expire(now_ms)
