"""What runs the timers of a cluster: an alarm of the event loop, or a clock that is moved."""

from typing import TYPE_CHECKING, Protocol

from broker.clock import Clock
from broker.dispatch.turns import Turns
from broker.log import log
from broker.timers import Timers

if TYPE_CHECKING:
    import asyncio

ALARM_S_MAX = 1.0
"""Longest time until the timers are looked at again, in seconds of the event loop."""


class Resumable(Protocol):
    """A connection, as far as the timers need it."""

    def resume_connection(self, now_ms: int) -> None:
        """Continue after a pending response is complete or other clients were served."""
        ...


class TimerDriver:
    """Runs timers when they are due, and then resumes the connections that they make ready."""

    def __init__(self, timers: Timers, clock: Clock, turns: Turns) -> None:
        self._timers = timers
        self._clock = clock
        self._turns = turns
        self.loop: asyncio.AbstractEventLoop | None = None
        self.alarm_s_max = ALARM_S_MAX
        self.is_receiving = False
        """Whether a connection handles a read now; it calls `ring_now` then."""
        self._ready: list[Resumable] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_due_ms = 0
        """The time for which the alarm was set."""
        self._rings_soon = False
        self._has_earlier_timer = False
        """Whether `_ring_soon` has to look at the timers, and to set the alarm."""
        self._is_ringing = False

    def start(self) -> None:
        """Run timers from now on, in `loop`."""
        self._timers.on_earlier = self._set_alarm
        self._timers.on_soon = self._ring_after_this
        self._timers.on_advance = self._advance_after_this

    def stop(self) -> None:
        """Run no more timers."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._timers.on_earlier = self._timers.on_soon = self._timers.on_advance = None

    def make_ready(self, connection: Resumable) -> None:
        """Resume a connection after the current request."""
        if not self._ready and not self._is_ringing and self.loop is not None:
            self.loop.call_soon(self.resume_ready)
        self._ready.append(connection)

    def resume_ready(self) -> None:
        """Resume each ready connection once; those with more to do wait a loop iteration."""
        self._resume_ready(self._clock.now_ms())

    def _resume_ready(self, now_ms: int) -> None:
        batch, self._ready = self._ready, []
        for connection in batch:
            connection.resume_connection(now_ms)

    def advance(self, duration_ms: int) -> int:
        """Move the clock forward; return the new time.

        Before this returns, all timers that become due run at their times, and their responses are
        written. Requests that arrive during it are handled later.
        """
        clock, timers = self._clock, self._timers
        target_ms = clock.now_ms() + duration_ms
        self._settle()  # requests that came before the clock moves
        timers.skip_idle(target_ms)
        while (due_ms := timers.next_due_ms()) is not None and due_ms <= target_ms:
            clock.move_to(due_ms)
            self._run_due()
            self._settle()
            timers.skip_idle(target_ms)
        clock.move_to(target_ms)
        self.reset_alarm()
        return clock.now_ms()

    def _advance_after_this(self, duration_ms: int) -> None:
        assert self.loop is not None
        self.loop.call_soon(self.advance, duration_ms)

    def reset_alarm(self) -> None:
        """Set the alarm again after the clock was moved or changed its speed."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        next_due_ms = self._timers.next_due_ms()
        if next_due_ms is not None:
            self._set_alarm(next_due_ms)

    def _ring_after_this(self) -> None:
        if not self.is_receiving and not self._rings_soon:
            assert self.loop is not None
            self._rings_soon = True
            self.loop.call_soon(self._ring_soon)

    def _set_alarm(self, due_ms: int) -> None:
        """Have timers run that are due then; an alarm that rings earlier is set again then."""
        assert self.loop is not None
        if self._rings_soon:
            self._has_earlier_timer = True
            return
        if self._alarm is not None and self._alarm_due_ms <= due_ms:
            return
        delay_s = self._clock.wait_s(due_ms - self._clock.now_ms())
        if delay_s is None:
            return
        if delay_s <= 0:
            self._rings_soon = self._has_earlier_timer = True
            self.loop.call_soon(self._ring_soon)
            return
        if self._alarm is not None:
            self._alarm.cancel()
        # The event loop's time stands while the machine is suspended, the broker's does not.
        self._alarm = self.loop.call_later(min(delay_s, self.alarm_s_max), self._ring)
        self._alarm_due_ms = due_ms

    def _ring_soon(self) -> None:
        self._rings_soon = False
        if self._timers.on_earlier is None:
            return  # the server has stopped
        if self._timers.soon_calls:
            self.ring_now(self._clock.now_ms())
        if not self._has_earlier_timer:
            return  # most often a record has woken a consumer
        self._has_earlier_timer = False
        # The connections that the timers make ready need no further turn of the event loop.
        self._is_ringing = not self._ready
        self._run_due()
        if self._is_ringing:
            self._is_ringing = False
            self.resume_ready()
        next_due_ms = self._timers.next_due_ms()
        if next_due_ms is not None:
            self._set_alarm(next_due_ms)

    def ring_now(self, now_ms: int) -> None:
        """Run what the timers have been asked to call soon, and write the responses."""
        self._is_ringing = not self._ready
        try:
            self._timers.run_soon(now_ms)
        except Exception as error:  # noqa: BLE001 - a bug in one call must not stop the others
            self._note_failure(error)
        if self._is_ringing:
            self._is_ringing = False
            self._resume_ready(now_ms)

    def _ring(self) -> None:
        self._alarm = None
        self._run_due()
        self.reset_alarm()

    def _run_due(self) -> None:
        try:
            self._timers.run_due(self._clock.now_ms())
        except Exception as error:  # noqa: BLE001 - a bug in one timer must not stop the others
            self._note_failure(error)

    def _note_failure(self, error: Exception) -> None:
        log.error("timer failed", exc_info=error)

    def _settle(self) -> None:
        timers, turns = self._timers, self._turns
        turns.finish_all()
        while self._ready or timers.soon_calls:
            if timers.soon_calls:
                self.ring_now(self._clock.now_ms())
            self.resume_ready()
            turns.finish_all()
