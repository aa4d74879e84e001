"""Measure what the journal costs: requests with `journal.enable`, in times of those without it.

The fixtures of tests enable the journal.
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping

from benchmarks import produce, requests
from benchmarks.docs_page import markdown_table, write_part
from benchmarks.quiet import wait_until_quiet
from benchmarks.report import Bar, case_line, print_line, progress, verdict_table
from benchmarks.results_page import ROWS
from benchmarks.server_process import ServerName, with_options

RATIO_MAX = 1.5
OPTION = "journal.enable=true"
_RUNS = {
    f"{measurement.name} {measurement.case}": measurement.run
    for measurement in (*produce.MEASUREMENTS, *requests.MEASUREMENTS)
}
ROWS_OF_COSTS = [row for row in ROWS if row.case in _RUNS and row.figure.startswith("server_us")]


def measure(
    run: Callable[[ServerName], Mapping[str, float]], figure: str, rounds: int
) -> dict[str, float]:
    """Return the medians without and with the journal, and their ratio, of alternating rounds."""
    without_us, with_us = [], []
    for _ in range(rounds):
        wait_until_quiet()
        without_us.append(run("ours")[figure])
        with with_options(OPTION):
            with_us.append(run("ours")[figure])
    without, recorded = statistics.median(without_us), statistics.median(with_us)
    return {"without_us": without, "with_us": recorded, "ratio": recorded / without}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds per case (default 3)")
    parser.add_argument("--write", action="store_true", help="write the table to the docs")
    arguments = parser.parse_args()
    lines, rows = [], []
    for row in ROWS_OF_COSTS:
        figures = measure(_RUNS[row.case], row.figure, arguments.rounds)
        bar = Bar("ratio", "at most", RATIO_MAX, is_timing=True)
        lines.append(case_line("journal", row.case, figures, (bar,), "scripts/bench journal"))
        print_line(lines[-1])
        costs = (f"{figures[name]:.{row.decimals}f} µs" for name in ("without_us", "with_us"))
        rows.append((row.label, *costs, f"{figures['ratio']:.2f}"))
    progress(verdict_table(lines))
    if arguments.write:
        write_part("journal", markdown_table(("", "without", "with", "ratio"), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
