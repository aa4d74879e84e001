import os

import pytest

from tests.soak.resources import BYTES_PER_MIB, Growth, Sample, growth, sample


def test_growth_is_that_of_the_time_after_the_first_minute() -> None:
    samples = [Sample(time_s, round(time_s * BYTES_PER_MIB), 7) for time_s in range(60)]
    samples += [
        Sample(time_s, 100 * BYTES_PER_MIB + time_s * BYTES_PER_MIB // 300, 7 + time_s // 600)
        for time_s in (60, 360, 660)
    ]
    found = growth(samples)
    assert found.mib_per_10_min == pytest.approx(2.0)
    assert found.open_files_per_10_min == pytest.approx(1.0)
    assert found.measured_s == 600


def test_a_short_run_has_no_growth() -> None:
    assert growth([Sample(59, 1, 1), Sample(60, 2, 2)]) == Growth(0, 0, 0)


def test_this_process_has_memory_and_open_files() -> None:
    measured = sample(os.getpid(), 3.0)
    assert measured.time_s == 3.0
    assert measured.memory_bytes > BYTES_PER_MIB
    assert measured.open_files >= 3
