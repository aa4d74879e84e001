"""The clocks of the load generator; other modules call these functions."""

import time


def now_us() -> int:
    """Return the microseconds of a monotonic clock."""
    return time.monotonic_ns() // 1000


def epoch_us() -> int:
    """Return the microseconds since 1970, for comparison between hosts."""
    return time.time_ns() // 1000


def cpu_us() -> int:
    """Return the CPU time of this process in microseconds."""
    return time.process_time_ns() // 1000
