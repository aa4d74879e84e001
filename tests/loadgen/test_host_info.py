"""Host, versions and CPU time."""

import os
import sys

import pytest

from loadgen.host_info import age_us, cpu_us_of, describe, percent


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel has no /proc here")
def test_the_cpu_time_of_a_process_can_be_read() -> None:
    used_us = cpu_us_of(os.getpid())
    assert used_us is not None
    assert 0 < used_us <= (sum(os.times()[:2]) + 1) * 1e6


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel has no /proc here")
def test_this_process_knows_its_age() -> None:
    first_us = age_us()
    assert 0 < first_us <= age_us()


def test_the_cpu_time_of_an_unknown_process_is_none() -> None:
    assert cpu_us_of(None) is None
    assert cpu_us_of(2**30) is None


def test_percentages_are_of_all_cpus() -> None:
    assert percent(1_000_000, 1_000_000, 2) == 50.0
    assert percent(None, 1, 2) is None
    assert percent(1, 0, 2) is None


def test_versions_are_host() -> None:
    host = describe()
    assert host["kafka-python"]
    assert host["cpus"] >= 1
