"""The load generator's only clocks; everything else gets times as arguments."""

import time


def now_us() -> int:
    """Microseconds of a clock that never goes back; its zero means nothing."""
    return time.monotonic_ns() // 1000


def epoch_us() -> int:
    """Microseconds since 1970: what machines agree on."""
    return time.time_ns() // 1000


def cpu_us() -> int:
    """CPU time of this process so far."""
    return time.process_time_ns() // 1000
