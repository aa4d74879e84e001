"""What `call_soon`, `call_at` and `call_later` of a simulated loop return.

They have the methods of asyncio's handles and are no subclasses: a loop makes twenty of them for
each Fetch of an idle client, and asyncio's ask for the debug mode and keep a traceback each time.
"""

from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, Protocol


class LoopOfTimers(Protocol):
    """What a timer needs of its loop."""

    def note_cancelled(self) -> None:
        """Count a timer that was cancelled and still waits."""


class SimulatedCall:
    """A call that the loop is going to make: what `call_soon` returns, with asyncio's methods."""

    __slots__ = ("args", "callback", "context", "is_cancelled")

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> None:
        self.callback = callback
        self.args = args
        self.context = copy_context() if context is None else context
        self.is_cancelled = False

    def __repr__(self) -> str:
        state = "cancelled" if self.is_cancelled else repr(self.callback)
        return f"<{type(self).__name__} {state}>"

    def cancel(self) -> None:
        """Do not make the call, and keep nothing of it alive."""
        self.is_cancelled = True
        self.callback, self.args = _do_nothing, ()

    def cancelled(self) -> bool:
        """Return whether it was cancelled."""
        return self.is_cancelled


class SimulatedTimer(SimulatedCall):
    """A call at a time: what `call_at` and `call_later` return."""

    __slots__ = ("_when_s", "loop")

    # All of it is here: most calls of a run are timers.
    def __init__(
        self,
        loop: LoopOfTimers,
        when_s: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context | None,
    ) -> None:
        self.callback = callback
        self.args = args
        self.context = copy_context() if context is None else context
        self.is_cancelled = False
        self._when_s = when_s
        self.loop: LoopOfTimers | None = loop
        """The loop, until the time has come."""

    def when(self) -> float:
        """Return its time, in seconds of the loop."""
        return self._when_s

    def cancel(self) -> None:
        """Do not make the call, and keep nothing of it alive."""
        loop, self.loop = self.loop, None
        self.is_cancelled = True
        self.callback, self.args = _do_nothing, ()
        if loop is not None:
            loop.note_cancelled()


def _do_nothing() -> None:
    """Take the place of a call that was cancelled."""
