"""`mock-kafka load compare`: what changed between runs, for a person and for CI."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from loadgen.comparison.comparison_page import Comparison, difference, interval, render
from loadgen.comparison.differences import Limits, Side, changes, verdict_changes
from loadgen.comparison.run_figures import RunFigures, read_run
from loadgen.outputs import FAILED, INVALID, OK
from loadgen.storage import Storage, StorageError, checked_url

_SUMMARY = "summary.json"


def main(arguments: Sequence[str]) -> int:
    """Compare each side with the first one and write the page; return the exit status.

    Raises:
        StorageError: a run cannot be read, or the page cannot be written.
    """
    from loadgen.comparison.comparison_charts import draw  # noqa: PLC0415 - slow to import

    options = _parser().parse_args(arguments)
    if len(set(options.runs)) < max(2, len(options.runs)):
        raise StorageError("name two or more different runs to compare")
    sides = [_side(text) for text in options.runs]
    limits = Limits(options.confidence, options.tolerance / 100, options.points)
    before = sides[0]
    comparisons = [
        Comparison(before, after, changes(before, after, limits), verdict_changes(before, after))
        for after in sides[1:]
    ]
    notes = _notes(sides)
    page = render(comparisons, draw(sides), limits, notes)
    path = Path(options.out).resolve()
    Storage(str(path.parent)).write(page.encode(), path.name)
    _print(comparisons, notes, path)
    return exit_status(comparisons, sides)


def exit_status(comparisons: Sequence[Comparison], sides: Sequence[Side]) -> int:
    """Return FAILED if a side became worse.

    INVALID if the load generator was late: then rates and latencies prove nothing, but a check that
    failed does.
    """
    if any(verdict.is_worse for found in comparisons for verdict in found.verdicts):
        return FAILED
    if any(side.was_late for side in sides):
        return INVALID
    is_worse = any(change.word == "worse" for found in comparisons for change in found.changes)
    return FAILED if is_worse else OK


def _side(text: str) -> Side:
    """Return the runs of a side: folders with a comma between them, or one that contains them."""
    runs: list[RunFigures] = []
    for name in text.split(","):
        storage = Storage(checked_url(name))
        folders = [storage]
        if _SUMMARY not in storage.names():
            folders = [
                Storage(storage.of(child))
                for child in storage.names()
                if _SUMMARY in _names(storage, child)
            ]
        if not folders:
            raise StorageError(f"{storage.url} has no {_SUMMARY}, nor has a folder in it")
        runs += map(read_run, folders)
    return Side(text, runs)


def _names(storage: Storage, child: str) -> list[str]:
    try:
        return storage.names(child)
    except StorageError:  # a file
        return []


def _notes(sides: Sequence[Side]) -> list[str]:
    notes = []
    runs = [run for side in sides for run in side.runs]
    if len({(run.plan, round(run.measured_s)) for run in runs}) > 1:
        notes.append("The runs have different plans or durations.")
    if min(len(side.runs) for side in sides) < 2:
        notes.append(
            "A side has one run only: without a second seed there is no confidence interval, and"
            " only verdicts decide the exit status."
        )
    notes += [
        f"The load generator was late in a run of {side.name}: its latencies are not reliable."
        for side in sides
        if side.was_late
    ]
    return notes


def _print(comparisons: Sequence[Comparison], notes: Sequence[str], path: Path) -> None:
    console = Console()
    console = console if console.is_terminal else Console(width=200)
    for note in notes:
        console.print(escape(note))
    for found in comparisons:
        for verdict in found.verdicts:
            if verdict.is_worse:
                text = f"{verdict.scope}: {verdict.check}: {verdict.before} -> {verdict.after}"
                console.print(escape(f"worse  {found.after.name}: {text}"))
        for change in found.changes:
            if change.word in ("worse", "better"):
                text = f"{change.tenant} {change.api} {change.metric.name}: {difference(change)}"
                line = f"{change.word:6} {found.after.name}: {text} ({interval(change)})"
                console.print(escape(line))
    console.print(f"comparison: {escape(str(path))}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mock-kafka load compare",
        description="Compare runs with the first one: rates, latencies, errors, throttles, checks.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="the --out of a run; for several seeds a folder of such folders, or RUN,RUN",
    )
    parser.add_argument(
        "--out", default="comparison.html", metavar="FILE", help="default: comparison.html"
    )
    parser.add_argument(
        "--confidence", type=_share, default=0.95, metavar="P", help="default: 0.95"
    )
    parser.add_argument(
        "--tolerance", type=_not_negative, default=10.0, metavar="PERCENT", help="default: 10"
    )
    parser.add_argument(
        "--points",
        type=_not_negative,
        default=1.0,
        metavar="N",
        help="tolerated percentage points of errors and throttled requests (default: 1)",
    )
    return parser


def _share(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def _not_negative(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of 0 or more")
    return value
