"""Write the figures of speed in README.md and docs/benchmarks.md.

`python -m benchmarks.speed_figures` does so. They come from `benchmarks/results.json`, which
`scripts/bench --write` fills, and the counts from `benchmarks/instructions.json`.
"""

import json
from pathlib import Path

from benchmarks import results_page
from benchmarks.docs_page import TARGET as BENCHMARKS
from benchmarks.docs_page import markdown_table, with_part
from benchmarks.instructions import FIGURES_FILE
from benchmarks.results_page import Results, median_of
from benchmarks.server_process import PROJECT

README = PROJECT / "README.md"
PART = "speed"
RESET, FIXTURE = "reset 3 brokers, a topic, a fault, 3 connections", "fixture 1 broker"
TEXT = """\
- It answers its first request {start} s after its start, the first fixture of a test session \
takes {fixture} s, and a reset {reset} ms.
- A Produce request with one record takes {pipelined} of server time with 50 in flight \
({pipelined_rdmock} of librdkafka's mock, {pipelined_kfake} of kfake), and
  {single} from 100 connections with one in flight each ({single_rdmock} and {single_kfake}), on a \
machine that others slowed down at the time.
- One remembered producer id takes {one} bytes under KIP-758's rule and {five} under Kafka's."""


def speed(results: Results) -> str:
    """Return the list of README.md."""

    def ours(case: str, figure: str, decimals: int) -> str:
        return f"{median_of(results, case, figure):.{decimals}f}"

    figures = {
        "start": ours("start 1 broker", "start_s", 2),
        "fixture": ours(FIXTURE, "first_s", 2),
        "reset": ours(RESET, "reset_ms", 1),
        "one": ours("producer-state kip-758 1000000", "resident_bytes_per_entry", 0),
        "five": ours("producer-state kafka 1000000", "resident_bytes_per_entry", 0),
    }
    cost = "server_us_per_request"
    for name, case in (("pipelined", "produce 1x50"), ("single", "produce 100x1")):
        figures[name] = f"{median_of(results, case, cost):.2g} µs"
        for rival in ("rdmock", "kfake"):
            figures[f"{name}_{rival}"] = f"{results[case]['ratios'][rival][cost]['median']:.2f}"
    return TEXT.format_map(figures)


def instructions() -> str:
    """Return the table of what a request executes with Python 3.11."""
    counts = json.loads(FIGURES_FILE.read_text(encoding="utf-8"))["3.11"]
    rows = [(request, f"{steps:,}", str(c_calls)) for request, (steps, c_calls) in counts.items()]
    return markdown_table(("", "bytecode instructions", "calls of C functions"), rows)


def rendered() -> dict[Path, str]:
    """Return README.md and docs/benchmarks.md with the kept figures."""
    results = results_page.read()
    page = BENCHMARKS.read_text(encoding="utf-8")
    for name, part in results_page.parts(results).items():
        page = with_part(page, name, part)
    page = with_part(page, "instructions", instructions())
    readme = with_part(README.read_text(encoding="utf-8"), PART, speed(results))
    return {README: readme, BENCHMARKS: page}


def write() -> None:
    """Write both pages."""
    for path, page in rendered().items():
        path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write()
