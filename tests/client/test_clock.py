"""The clocks of the client, and sleeping."""

from client import clock


def test_the_monotonic_clock_advances_by_the_time_slept() -> None:
    before_ms = clock.now_ms()
    clock.sleep_ms(2)
    assert clock.now_ms() >= before_ms + 1  # milliseconds are rounded down at each end
    clock.sleep_ms(0)


def test_wall_ms_is_the_time_since_the_epoch() -> None:
    assert clock.wall_ms() > 1_700_000_000_000
