"""Run measurements, compare figures with their bars, and print JSON lines.

Measurements of several servers run in rounds, one server after the other. A round is repeated a few
times at most while other processes use the CPUs. A bar applies to the median over the rounds. A
ratio is ours / the rival's, of the medians, with the extremes over the rounds; a bar on a ratio
names the rival.
"""

import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.quiet import BUSY_SHARE, wait_until_quiet
from benchmarks.server_process import SERVER_NAMES, ServerName
from scenarios.table import text_table

OTHER_CPU_SHARE = "other_cpu_share"
ATTEMPTS_MAX = 4

Figures = Mapping[str, float]
"""Measured values by name; a name ends in its unit."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The limit of one of our figures, or with `is_ratio` of its ratio to the rival's.

    With `is_timing` a busy machine alone may cause a miss.
    """

    figure: str
    sense: Literal["at most", "at least"]
    limit: float
    is_ratio: bool = False
    is_timing: bool = False
    rival: ServerName = "rdmock"

    def is_met(self, value: float) -> bool:
        """Return whether a value is within the limit."""
        return value <= self.limit if self.sense == "at most" else value >= self.limit


@dataclass(frozen=True, slots=True)
class Measurement:
    """One case that runs in the same way with each of some servers."""

    name: str
    case: str
    run: Callable[[ServerName], Figures]
    bars: tuple[Bar, ...] = ()
    servers: tuple[ServerName, ...] = SERVER_NAMES


def measure(
    measurement: Measurement,
    servers: Sequence[ServerName],
    rounds: int,
    wait: Callable[[], object] = wait_until_quiet,
) -> dict[ServerName, list[Figures]]:
    """Run the rounds with alternating servers; call `wait` before each one."""
    results: dict[ServerName, list[Figures]] = {
        server: [] for server in servers if server in measurement.servers
    }
    for round_number in range(1, rounds + 1):
        for server, of_server in results.items():
            figures = _run_undisturbed(measurement, server, wait)
            of_server.append(figures)
            shown = " ".join(f"{name}={value:.6g}" for name, value in figures.items())
            progress(
                f"{measurement.name} {measurement.case} round {round_number}/{rounds} "
                f"{server}: {shown}"
            )
    return results


def _run_undisturbed(
    measurement: Measurement, server: ServerName, wait: Callable[[], object]
) -> Figures:
    """Run a round, again while the machine is busy; return the least disturbed attempt."""
    attempts: list[Figures] = []
    while len(attempts) < ATTEMPTS_MAX:
        wait()
        attempts.append(measurement.run(server))
        others = _others(attempts[-1])
        if others <= BUSY_SHARE:
            break
        progress(f"{measurement.name} {measurement.case} {server}: others used {others:.2f} CPUs")
    return min(attempts, key=_others)


def _others(figures: Figures) -> float:
    """Return the CPUs that other processes used during the round; 0 if not measured."""
    return figures.get(OTHER_CPU_SHARE, 0.0)


def progress(text: str) -> None:
    """Print progress to stderr; stdout is for JSON lines."""
    print(text, file=sys.stderr, flush=True)


def print_line(line: Mapping[str, Any]) -> None:
    """Print a JSON object to stdout."""
    print(json.dumps(line), flush=True)


def case_line(
    measurement: str, case: str, figures: Figures, bars: Sequence[Bar], reproduce: str
) -> dict[str, Any]:
    """Return the JSON line of a case that measures one server, with its bars."""
    compared = [_compared(bar, figures[bar.figure]) for bar in bars]
    return {
        "measurement": measurement,
        "case": case,
        "figures": figures,
        "bars": compared,
        "met": _all_met(compared),
        "command": reproduce,
    }


def verdict_table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of the bars of JSON lines, one row per bar, as plain text."""
    rows = [
        (
            line["case"],
            bar["figure"],
            bar["bar"],
            f"{bar['value']:.6g}",
            "met" if bar["met"] else "MISSED",
        )
        for line in lines
        for bar in line["bars"]
    ]
    return text_table(("case", "figure", "bar", "value", "verdict"), rows)


def lines(
    measurement: Measurement,
    results: Mapping[ServerName, Sequence[Figures]],
    reproduce: str,
) -> list[dict[str, Any]]:
    """Return the JSON lines of a measurement, one per server; `reproduce` is the command line."""
    medians = {server: _medians(rounds) for server, rounds in results.items()}
    ours = results.get("ours", ())
    ratios: dict[ServerName, dict[str, dict[str, float]]] = {
        rival: _ratios(ours, results.get(rival, ())) for rival in SERVER_NAMES if rival != "ours"
    }
    found = []
    for server, rounds in results.items():
        line: dict[str, Any] = {
            "measurement": measurement.name,
            "case": measurement.case,
            "server": server,
            "rounds": len(rounds),
            "disturbed_rounds": sum(_others(figures) > BUSY_SHARE for figures in rounds),
            "figures": {name: _spread(rounds, name) for name in medians[server]},
            **{f"ratio_ours_to_{rival}": found for rival, found in ratios.items()},
        }
        if server == "ours":
            results_of_bars = [
                _judged(bar, medians[server], ratios.get(bar.rival, {})) for bar in measurement.bars
            ]
            line["bars"] = results_of_bars
            line["met"] = _all_met(results_of_bars)
        line["command"] = reproduce
        found.append(line)
    return found


def _medians(rounds: Sequence[Figures]) -> dict[str, float]:
    names = rounds[0] if rounds else ()
    return {name: statistics.median(figures[name] for figures in rounds) for name in names}


def _spread(rounds: Sequence[Figures], name: str) -> dict[str, float]:
    values = [figures[name] for figures in rounds]
    return {
        "median": _rounded(statistics.median(values)),
        "min": _rounded(min(values)),
        "max": _rounded(max(values)),
    }


def _ratios(ours: Sequence[Figures], rival: Sequence[Figures]) -> dict[str, dict[str, float]]:
    """Return the ratio of the medians, and the extremes of the ratios in the same round."""
    found = {}
    ours_medians, rival_medians = _medians(ours), _medians(rival)
    for name, median in ours_medians.items():
        if rival_medians.get(name):
            of_rounds = [
                our_round[name] / rival_round[name]
                for our_round, rival_round in zip(ours, rival, strict=True)
                if rival_round[name]
            ]
            found[name] = {
                "median": _rounded(median / rival_medians[name]),
                "min": _rounded(min(of_rounds)),
                "max": _rounded(max(of_rounds)),
            }
    return found


def _judged(
    bar: Bar, medians: Figures, ratios: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    ratio = ratios.get(bar.figure, {}).get("median")
    value = ratio if bar.is_ratio else medians.get(bar.figure)
    return {"of": f"ratio ours/{bar.rival}" if bar.is_ratio else "median", **_compared(bar, value)}


def _compared(bar: Bar, value: float | None) -> dict[str, Any]:
    return {
        "figure": bar.figure,
        "bar": f"{bar.sense} {bar.limit:.6g}",
        "value": None if value is None else _rounded(value),
        "met": None if value is None else bar.is_met(value),
    }


def _all_met(bars: Sequence[Mapping[str, Any]]) -> bool | None:
    verdicts = [bar["met"] for bar in bars]
    return None if not verdicts or None in verdicts else all(verdicts)


def _rounded(value: float) -> float:
    return value if value == int(value) else float(f"{value:.5g}")
