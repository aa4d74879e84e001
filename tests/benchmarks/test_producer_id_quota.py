"""The benchmark compares figures with bars; the measurements do not run here."""

import json
from collections.abc import Iterator, Sequence

import pytest

from benchmarks import producer_id_quota
from benchmarks.producer_id_quota import run_case
from benchmarks.report import Bar, Figures, verdict_table


@pytest.mark.parametrize(
    ("value", "is_timing", "is_met", "has_passed"),
    [
        (1, False, True, True),
        (3, False, False, False),
        (3, True, False, True),
    ],
)
def test_a_missed_bar_fails_the_case_unless_it_is_a_bar_of_time(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    value: float,
    is_timing: bool,
    is_met: bool,
    has_passed: bool,
) -> None:
    def case() -> Iterator[tuple[str, Figures, Sequence[Bar]]]:
        yield "shown", {"figure": value}, [Bar("figure", "at most", 2, is_timing=is_timing)]

    monkeypatch.setitem(producer_id_quota.CASES, "memory", case)
    assert run_case("memory") is has_passed
    line = json.loads(capsys.readouterr().out)
    assert line["met"] is is_met
    row = verdict_table([line]).splitlines()[-1].split("  ")
    assert [cell.strip() for cell in row if cell] == [
        "memory shown",
        "figure",
        "at most 2",
        str(value),
        "met" if is_met else "MISSED",
    ]
