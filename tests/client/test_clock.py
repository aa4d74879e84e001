"""The clock never goes back, and sleeping takes its time."""

from client import clock


def test_the_clock_counts_milliseconds_forward_and_sleeping_passes_them() -> None:
    before_ms = clock.now_ms()
    clock.sleep_ms(2)
    assert (
        clock.now_ms() >= before_ms + 1
    )  # whole milliseconds: a part of one may be cut at each end
    clock.sleep_ms(0)


def test_records_are_stamped_with_the_time_of_the_wall() -> None:
    assert clock.wall_ms() > 1_700_000_000_000
