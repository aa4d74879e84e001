"""The clocks of workers are compared with the driver's."""

import socket
import threading

import pytest

from loadgen import clock
from loadgen.clock_offset import ClockServer, measure_offset, offset_of


def test_the_offset_is_that_of_the_middle_and_half_of_the_round_trip_may_be_wrong() -> None:
    assert offset_of(1_000, 500, 1_200) == (600, 100)
    assert offset_of(0, 500, 200) == (-400, 100)


def test_a_clock_that_is_ahead_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    real, main = clock.epoch_us, threading.main_thread()

    def epoch_us() -> int:
        return real() + (7_000_000 if threading.current_thread() is main else 0)

    monkeypatch.setattr(clock, "epoch_us", epoch_us)
    with ClockServer() as server:
        for _ in range(2):
            found = measure_offset(server.address)
            assert found is not None
            assert abs(found.offset_us - 7_000_000) <= found.error_us + 2
            assert found.error_us < 1_000_000


def test_a_driver_that_can_not_be_reached_gives_no_offset() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = closed.getsockname()
    assert measure_offset(address) is None
