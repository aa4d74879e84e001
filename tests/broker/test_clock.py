"""The machine's clock in the unit of the protocol."""

import time

from broker.clock import SystemClock


def test_the_time_is_in_milliseconds_since_the_epoch() -> None:
    before_ms = time.time() * 1000 - 1
    assert before_ms <= SystemClock().now_ms() <= time.time() * 1000 + 1
