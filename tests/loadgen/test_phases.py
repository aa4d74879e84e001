"""The log of a run's phases."""

import pytest

from loadgen import clock
from loadgen.phases import Phases


def test_phases_have_times_since_the_command_started(monkeypatch: pytest.MonkeyPatch) -> None:
    now_us = [5_000_000]
    monkeypatch.setattr(clock, "now_us", lambda: now_us[0])
    shown: list[str] = []
    phases = Phases(age_us=1_500_000, show=shown.append)
    with phases.measured("load"):
        assert shown == ["load"]
        now_us[0] += 2_000_000
        phases.add("first", 4_000_000, 6_000_000)
    assert phases.as_rows() == [
        {"phase": "imports", "start_s": 0.0, "end_s": 1.5},
        {"phase": "first", "start_s": 0.5, "end_s": 2.5},
        {"phase": "load", "start_s": 1.5, "end_s": 3.5},
    ]
    now_us[0] += 1_000_000
    assert phases.as_line() == "4.5 s: imports 1.5 s, first 2.0 s, load 2.0 s"


def test_a_phase_that_fails_is_measured() -> None:
    phases = Phases()
    with pytest.raises(ValueError, match="broken"), phases.measured("load"):
        raise ValueError("broken")
    assert [row["phase"] for row in phases.as_rows()] == ["load"]
