"""Measure what journal and quotas cost: requests with them, in times of those without.

The fixtures of tests enable the journal. The quotas are far above what the load uses.
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping
from itertools import chain

from benchmarks import produce, requests
from benchmarks.docs_page import markdown_table, write_part
from benchmarks.quiet import wait_until_quiet
from benchmarks.report import Bar, case_line, print_line, progress, verdict_table
from benchmarks.results_page import ROWS
from benchmarks.server_process import ServerName, with_options

RATIO_MAX = 1.5
_QUOTAS = (
    "client.quotas=user=ANONYMOUS,producer_byte_rate=1000000000000,"
    "consumer_byte_rate=1000000000000,producer_ids_rate=1000000"
)
OPTIONS = {
    "journal": "journal.enable=true",
    "quotas": _QUOTAS,
    "timed": f"{_QUOTAS},request_percentage=1000000",
}
"""`timed`: the time of each request is charged, too."""
_RUNS = {
    f"{measurement.name} {measurement.case}": measurement.run
    for measurement in (*produce.MEASUREMENTS, *requests.MEASUREMENTS)
}
ROWS_OF_COSTS = [row for row in ROWS if row.case in _RUNS and row.figure.startswith("server_us")]


def measure(
    run: Callable[[ServerName], Mapping[str, float]], figure: str, rounds: int
) -> dict[str, float]:
    """Return the medians without and with each option, and the ratios, of alternating rounds."""
    found_us: dict[str, list[float]] = {"without": [], **{name: [] for name in OPTIONS}}
    for _ in range(rounds):
        wait_until_quiet()
        found_us["without"].append(run("ours")[figure])
        for name, option in OPTIONS.items():
            with with_options(option):
                found_us[name].append(run("ours")[figure])
    costs_us = {name: statistics.median(found) for name, found in found_us.items()}
    return {
        **{f"{name}_us": cost_us for name, cost_us in costs_us.items()},
        **{f"{name}_ratio": costs_us[name] / costs_us["without"] for name in OPTIONS},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds per case (default 3)")
    parser.add_argument("--write", action="store_true", help="write the table to the docs")
    arguments = parser.parse_args()
    lines, rows = [], []
    bar = Bar("journal_ratio", "at most", RATIO_MAX, is_timing=True)
    for row in ROWS_OF_COSTS:
        figures = measure(_RUNS[row.case], row.figure, arguments.rounds)
        lines.append(case_line("accounting", row.case, figures, (bar,), "scripts/bench accounting"))
        print_line(lines[-1])
        costs = [f"{figures[f'{name}_us']:.{row.decimals}f} µs" for name in ("without", *OPTIONS)]
        ratios = [f"{figures[f'{name}_ratio']:.2f}" for name in OPTIONS]
        rows.append((row.label, costs[0], *chain(*zip(costs[1:], ratios, strict=True))))
    progress(verdict_table(lines))
    if arguments.write:
        header = ("", "without", "journal", "ratio", "quotas", "ratio", "and of time", "ratio")
        write_part("accounting", markdown_table(header, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
