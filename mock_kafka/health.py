"""Wait until a cluster that starts elsewhere serves its admin port."""

import time

from mock_kafka.control import Control

__tracebackhide__ = True  # pytest shows the line of the caller

STEP_S = 0.1
"""Time between two attempts to reach a cluster that starts."""


def wait_until_healthy(control: Control, timeout_s: float) -> None:
    """Return when the cluster serves; with `timeout_s` 0 try once.

    Raises:
        ConnectionError: it did not respond for `timeout_s`.
    """
    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            control.ask("GET", "/healthz", timeout_s=max(timeout_s, STEP_S * 10))
        except (ConnectionError, TimeoutError):
            if time.monotonic() >= deadline_s:
                raise
            time.sleep(STEP_S)
        else:
            return
