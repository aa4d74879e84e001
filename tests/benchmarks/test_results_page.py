"""Kept results become tables with a column for each server; a new run replaces its own cases."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import results_page
from benchmarks.__main__ import MEASUREMENTS
from benchmarks.docs_page import TARGET

ROW_1X50 = "Produce, 50 in flight on one connection"
FIXTURE = {"first_s": 0.37, "further_ms": 0.4}
ROW_100X1 = "Produce, 100 connections, one in flight each"


def line(case: str, server: str, cost_us: float) -> dict[str, Any]:
    spread = {"median": cost_us, "min": cost_us - 1, "max": cost_us + 1}
    ratio = {"median": 0.5, "min": 0.4, "max": 0.6}
    return {
        "measurement": "produce",
        "case": case,
        "server": server,
        "rounds": 3,
        "figures": {"server_us_per_request": spread},
        "ratio_ours_to_rdmock": {"server_us_per_request": ratio},
        "ratio_ours_to_kfake": {},
        "ratio_ours_to_kafka": {},
    }


def test_a_new_run_leaves_other_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_page, "RESULTS_FILE", tmp_path / "results.json")
    results_page.keep([line("1x50", "ours", 3.0), line("100x1", "ours", 12.0)])

    results = results_page.keep([line("1x50", "ours", 2.5), line("1x50", "rdmock", 5.0)])

    assert results_page.table(results, "alternatives").splitlines()[2:] == [
        f"| {ROW_1X50} | 2.5 µs | 5.0 µs |  |  | 0.50 (0.40 to 0.60) |  |",
        f"| {ROW_100X1} | 12.0 µs |  |  |  | 0.50 (0.40 to 0.60) |  |",
    ]


def test_each_row_is_of_a_case_that_is_measured() -> None:
    cases = {f"{found.name} {found.case}" for group in MEASUREMENTS.values() for found in group}
    assert {row.case for row in results_page.ROWS} <= cases


def test_the_document_has_a_place_for_each_part() -> None:
    text = TARGET.read_text(encoding="utf-8")
    names = results_page.parts(results_page.read())
    assert names.keys() == {"alternatives", "requests", "single operations"}
    assert all(f"<!-- {name} -->" in text for name in names)


def test_a_program_that_measures_ours_alone_is_kept_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "results.json"
    results.write_bytes(results_page.RESULTS_FILE.read_bytes())
    monkeypatch.setattr(results_page, "RESULTS_FILE", results)
    bars = {"bars": [], "met": True, "command": "scripts/bench"}
    lines: list[dict[str, Any]] = [
        {"measurement": "fixture", "case": "1 broker", "figures": FIXTURE, **bars},
        {"measurement": "growth", "case": "1 topic", "figures": FIXTURE, **bars},
    ]
    shown = [found for line in lines if (found := results_page.with_server(line))]
    before = results_page.read()

    kept = results_page.keep(shown)

    changed = {case for case in kept if kept[case] != before.get(case)}
    assert changed == {"fixture 1 broker"}
    assert results_page.median_of(kept, "fixture 1 broker", "first_s") == 0.37
    assert "| 0.37 s | `fixture` |" in results_page.operations_table(kept)
