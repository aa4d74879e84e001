"""The client side's only clock: what shells hand to `Admin` and the producer's core."""

import time


def now_ms() -> int:
    """Milliseconds of a clock that never goes back."""
    return time.monotonic_ns() // 1_000_000


def sleep_ms(duration_ms: int) -> None:
    """Wait; nothing at all for 0."""
    time.sleep(duration_ms / 1000)


def wall_ms() -> int:
    """Milliseconds since the epoch, which records are stamped with."""
    return time.time_ns() // 1_000_000
