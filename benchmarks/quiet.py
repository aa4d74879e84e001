"""Wait until other processes use little CPU, up to a time limit."""

import time

from benchmarks.server_process import machine_busy_seconds

WINDOW_S = 0.5
BUSY_SHARE = 0.1
"""CPUs in use above which the machine counts as busy."""
WAIT_SECONDS_MAX = 20.0


def wait_until_quiet() -> bool:
    """Return once the machine was quiet for one window, or False after `WAIT_SECONDS_MAX`."""
    deadline_s = time.monotonic() + WAIT_SECONDS_MAX
    while time.monotonic() < deadline_s:
        busy_s = machine_busy_seconds()
        time.sleep(WINDOW_S)
        if machine_busy_seconds() - busy_s <= BUSY_SHARE * WINDOW_S:
            return True
    return False
