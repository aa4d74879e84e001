"""The clocks count microseconds."""

from loadgen import clock


def test_clocks_never_go_back() -> None:
    for read in (clock.now_us, clock.epoch_us, clock.cpu_us):
        values = [read() for _ in range(100)]
        assert values == sorted(values)


def test_the_epoch_is_1970_in_microseconds() -> None:
    assert 1.7e15 < clock.epoch_us() < 4e15
