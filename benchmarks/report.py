"""Rounds of the servers in turn, and what is printed of them: one JSON line per server.

A round during which other processes were busy is run again, a few times at most.
A figure is judged by its median over the rounds. A ratio is ours / the rival's, of the
medians; bars that are ratios are about librdkafka's mock.
"""

import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.quiet import BUSY_SHARE, wait_until_quiet
from benchmarks.server_process import SERVER_NAMES, ServerName

OTHER_CPU_SHARE = "other_cpu_share"
ATTEMPTS_MAX = 4

Figures = Mapping[str, float]
"""What one round of one server gave, by the figure's name, which ends in its unit."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure of ours (or, with `is_ratio`, the ratio to rdmock's) has to reach.

    With `is_timing` it may be missed for no other reason than that the machine is busy.
    """

    figure: str
    sense: Literal["at most", "at least"]
    limit: float
    is_ratio: bool = False
    is_timing: bool = False

    def is_met(self, value: float) -> bool:
        """Whether a median or ratio is good enough."""
        return value <= self.limit if self.sense == "at most" else value >= self.limit


@dataclass(frozen=True, slots=True)
class Measurement:
    """Something that is measured the same way with every server."""

    name: str
    case: str
    run: Callable[[ServerName], Figures]
    bars: tuple[Bar, ...] = ()


def measure(
    measurement: Measurement,
    servers: Sequence[ServerName],
    rounds: int,
    wait: Callable[[], object] = wait_until_quiet,
) -> dict[ServerName, list[Figures]]:
    """Run the rounds, the servers alternating, after a `wait` each; progress goes to stderr."""
    results: dict[ServerName, list[Figures]] = {server: [] for server in servers}
    for round_number in range(1, rounds + 1):
        for server in servers:
            figures = _run_undisturbed(measurement, server, wait)
            results[server].append(figures)
            shown = " ".join(f"{name}={value:.6g}" for name, value in figures.items())
            progress(
                f"{measurement.name} {measurement.case} round {round_number}/{rounds} "
                f"{server}: {shown}"
            )
    return results


def _run_undisturbed(
    measurement: Measurement, server: ServerName, wait: Callable[[], object]
) -> Figures:
    """One round; again while the machine was busy with something else. Returns the quietest."""
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
    """CPUs that other processes used meanwhile; 0 where that was not looked at."""
    return figures.get(OTHER_CPU_SHARE, 0.0)


def progress(text: str) -> None:
    """Say on stderr how far it is; stdout is for JSON lines."""
    print(text, file=sys.stderr, flush=True)


def print_line(line: Mapping[str, Any]) -> None:
    """One JSON object on stdout."""
    print(json.dumps(line), flush=True)


def lines(
    measurement: Measurement,
    results: Mapping[ServerName, Sequence[Figures]],
    reproduce: str,
) -> list[dict[str, Any]]:
    """The JSON lines of a measurement, one per server; `reproduce` is the command line."""
    medians = {server: _medians(rounds) for server, rounds in results.items()}
    ratios = {
        rival: _ratios(medians.get("ours", {}), medians.get(rival, {}))
        for rival in SERVER_NAMES
        if rival != "ours"
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
            **{f"ratio_ours_to_{rival}": of_medians for rival, of_medians in ratios.items()},
        }
        if server == "ours":
            judged = [_judged(bar, medians[server], ratios["rdmock"]) for bar in measurement.bars]
            line["bars"] = judged
            verdicts = [bar["met"] for bar in judged]
            line["met"] = None if not verdicts or None in verdicts else all(verdicts)
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


def _ratios(ours: Figures, rival: Figures) -> dict[str, float]:
    return {name: _rounded(ours[name] / rival[name]) for name in ours if rival.get(name)}


def _judged(bar: Bar, medians: Figures, ratios: Figures) -> dict[str, Any]:
    value = (ratios if bar.is_ratio else medians).get(bar.figure)
    return {
        "figure": bar.figure,
        "of": "ratio ours/rdmock" if bar.is_ratio else "median",
        "bar": f"{bar.sense} {bar.limit:g}",
        "value": None if value is None else _rounded(value),
        "met": None if value is None else bar.is_met(value),
    }


def _rounded(value: float) -> float:
    return value if value == int(value) else float(f"{value:.5g}")
