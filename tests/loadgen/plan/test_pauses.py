"""A pause has its begin and not its end."""

from loadgen.plan.pauses import Pause, pause_at


def test_a_pause_is_found_from_its_begin_until_before_its_end() -> None:
    first, second = Pause(1, 2), Pause(3, 1)
    times_s = (0.0, 1.0, 2.9, 3.0, 4.0)
    found = [pause_at((first, second), time_s) for time_s in times_s]
    assert found == [None, first, first, second, None]
