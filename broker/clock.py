"""The broker's clock; this file alone reads the machine's."""

import time
from collections.abc import Callable
from enum import Enum
from typing import Protocol


class Clock(Protocol):
    """Where the time of a request comes from."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since the epoch; never less than it said before."""
        ...

    def wait_s(self, delay_ms: int) -> float | None:
        """Seconds of the machine until `delay_ms` have passed here; None if time stands."""
        ...

    def move_to(self, time_ms: int) -> None:
        """Set the clock forward; a time that has passed changes nothing."""
        ...


class SystemClock:
    """The machine's wall clock."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since the epoch."""
        return time.time_ns() // 1_000_000


_MACHINE = SystemClock()


class ClockMode(Enum):
    """How the broker's time goes by (`broker.clock`)."""

    REAL = "real"
    SCALED = "scaled"
    STANDING = "standing"


class BrokerClock:
    """Time that goes by like the machine's, faster, slower or not at all, and can be moved on.

    It begins at the machine's time and never goes back, whatever the machine's does.
    """

    def __init__(
        self,
        mode: ClockMode = ClockMode.REAL,
        factor: float = 1.0,
        read_ms: Callable[[], int] = _MACHINE.now_ms,
    ) -> None:
        """`factor` is how many times faster than the machine a scaled clock goes."""
        self._read_ms = read_ms
        self._machine_anchor_ms = self._anchor_ms = self._latest_ms = read_ms()
        self.mode = mode
        self._factor: float = 1
        self._first_mode = mode, factor
        self.set_mode(mode, factor)

    @property
    def factor(self) -> float:
        """How much time goes by here while a unit of it goes by on the machine."""
        return self._factor

    def set_mode(self, mode: ClockMode, factor: float = 1.0) -> None:
        """Go on from now in another way.

        Raises:
            ValueError: the factor of a scaled clock is not more than 0.
        """
        if mode is ClockMode.SCALED and not factor > 0:
            raise ValueError(f"a scaled clock needs a factor of more than 0, not {factor}")
        self._anchor(self.now_ms())
        self.mode = mode
        # A whole 1 keeps the arithmetic of the real clock in whole numbers.
        self._factor = {ClockMode.REAL: 1, ClockMode.STANDING: 0}.get(mode, factor)

    def now_ms(self) -> int:
        """Milliseconds since the epoch, as this clock has them."""
        passed_ms = (self._read_ms() - self._machine_anchor_ms) * self._factor
        now_ms = self._anchor_ms + int(passed_ms)
        if now_ms < self._latest_ms:
            return self._latest_ms
        self._latest_ms = now_ms
        return now_ms

    def wait_s(self, delay_ms: int) -> float | None:
        """Seconds of the machine until `delay_ms` have passed here; None if time stands."""
        if delay_ms <= 0:
            return 0.0
        return delay_ms / self._factor / 1000 if self._factor else None

    def move_to(self, time_ms: int) -> None:
        """Set the clock forward; a time that has passed changes nothing."""
        if time_ms > self.now_ms():
            self._anchor(time_ms)

    def restart(self) -> None:
        """Begin anew, with the machine's time: here alone it may go back."""
        self._anchor(self._read_ms())
        self.set_mode(*self._first_mode)

    def _anchor(self, time_ms: int) -> None:
        self._machine_anchor_ms = self._read_ms()
        self._anchor_ms = self._latest_ms = time_ms


def perf_ns() -> int:
    """Nanoseconds that never go back, to measure how long a handler took."""
    return time.perf_counter_ns()
