"""The broker's clock; only this module reads the system clock."""

import time
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Protocol


class Clock(Protocol):
    """The source of a request's time."""

    def now_ms(self) -> int:
        """Return wall-clock milliseconds since the epoch; never less than before."""
        ...

    def wait_s(self, delay_ms: int) -> float | None:
        """Return the real seconds that `delay_ms` take here; None if time stands."""
        ...

    def move_to(self, time_ms: int) -> None:
        """Set the clock forward; a time that has passed changes nothing."""
        ...


_read_ns = partial(time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
"""A clock that nobody sets, and that on Linux goes on while the machine is suspended."""
_NS_PER_MS = 1_000_000


class SystemClock:
    """Time since the epoch that no change of the machine's wall clock moves.

    The offset to the wall clock is taken once, when the object is made.
    """

    def __init__(self) -> None:
        """Take the offset to the wall clock."""
        self.offset_ns = time.time_ns() - _read_ns()

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        return (_read_ns() + self.offset_ns) // _NS_PER_MS


_MACHINE = SystemClock()


class ClockMode(Enum):
    """The mode of the broker's clock (`broker.clock`)."""

    REAL = "real"
    SCALED = "scaled"
    STANDING = "standing"


class BrokerClock:
    """A clock that runs in real time, runs scaled, or stands; it can be moved forward.

    It starts at the system's time and never goes back.
    """

    def __init__(
        self,
        mode: ClockMode = ClockMode.REAL,
        factor: float = 1.0,
        read_ms: Callable[[], int] | None = None,
    ) -> None:
        """`factor` is how many times faster than real time a scaled clock runs.

        `read_ms` is the clock of the machine, by default the system's.
        """
        self._is_of_system = read_ms is None
        self._read_ms = read_ms or _MACHINE.now_ms
        self._machine_anchor_ms = self._anchor_ms = self._latest_ms = self._read_ms()
        self._offset_ns: int | None = None
        """What a real clock adds to the system's clock; None for others. It saves two calls."""
        self.mode = mode
        self._factor: float = 1
        self._first_mode = mode, factor
        self.set_mode(mode, factor)

    @property
    def factor(self) -> float:
        """Speed of this clock relative to real time."""
        return self._factor

    def set_mode(self, mode: ClockMode, factor: float = 1.0) -> None:
        """Change the mode from now on.

        Raises:
            ValueError: the factor of a scaled clock is not more than 0.
        """
        if mode is ClockMode.SCALED and not factor > 0:
            raise ValueError(f"a scaled clock needs a factor of more than 0, not {factor}")
        self._anchor(self.now_ms())
        self.mode = mode
        # An int 1 keeps the arithmetic of the real clock in integers.
        self._factor = {ClockMode.REAL: 1, ClockMode.STANDING: 0}.get(mode, factor)
        self._note_offset()

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        offset_ns = self._offset_ns
        if offset_ns is not None:
            return (_read_ns() + offset_ns) // _NS_PER_MS
        passed_ms = (self._read_ms() - self._machine_anchor_ms) * self._factor
        now_ms = self._anchor_ms + int(passed_ms)
        if now_ms < self._latest_ms:
            return self._latest_ms
        self._latest_ms = now_ms
        return now_ms

    def wait_s(self, delay_ms: int) -> float | None:
        """Return the real seconds that `delay_ms` take here; None if time stands."""
        if delay_ms <= 0:
            return 0.0
        return delay_ms / self._factor / 1000 if self._factor else None

    def move_to(self, time_ms: int) -> None:
        """Set the clock forward; a time that has passed changes nothing."""
        if time_ms > self.now_ms():
            self._anchor(time_ms)

    def restart(self) -> None:
        """Restart at the system's time, in the first mode; only this may go back."""
        self._anchor(self._read_ms())
        self.set_mode(*self._first_mode)

    def _anchor(self, time_ms: int) -> None:
        self._machine_anchor_ms = self._read_ms()
        self._anchor_ms = self._latest_ms = time_ms
        self._note_offset()

    def _note_offset(self) -> None:
        self._offset_ns = None
        if self._is_of_system and self.mode is ClockMode.REAL:
            moved_ms = self._anchor_ms - self._machine_anchor_ms
            self._offset_ns = _MACHINE.offset_ns + moved_ms * _NS_PER_MS


perf_ns: Callable[[], int] = time.perf_counter_ns
"""Return monotonic nanoseconds, to measure how long a handler took."""

thread_cpu_ns: Callable[[], int] = time.thread_time_ns
"""Return the nanoseconds for which this thread has used a CPU.

Other processes of the machine do not add to them, but a call costs more than one of `perf_ns`.
"""
