"""The client's clock, which is given to `Admin` and the producer's core."""

import time


def now_ms() -> int:
    """Return the time of a monotonic clock, in ms."""
    return time.monotonic_ns() // 1_000_000


def sleep_ms(duration_ms: int) -> None:
    """Sleep."""
    time.sleep(duration_ms / 1000)


def wall_ms() -> int:
    """Return the time since the epoch for record timestamps, in ms."""
    return time.time_ns() // 1_000_000
