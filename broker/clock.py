"""The broker's clock; this file alone reads the machine's."""

import time
from typing import Protocol


class Clock(Protocol):
    """Where the time of a request comes from."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since the epoch."""
        ...


class SystemClock:
    """The machine's wall clock."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since the epoch."""
        return time.time_ns() // 1_000_000


def perf_ns() -> int:
    """Nanoseconds that never go back, to measure how long a handler took."""
    return time.perf_counter_ns()
