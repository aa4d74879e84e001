"""`mock-kafka scenario`: run an experiment, or list them."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from scenarios import registry
from scenarios.client_logs import silenced
from scenarios.picture import MissingLibraryError

USAGE_ERROR = 2


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    parser = argparse.ArgumentParser(
        prog="mock-kafka scenario",
        description="Experiments with real clients; each prints a table.",
        epilog=scenario_lines(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one; see below")
    parser.add_argument("--list", action="store_true", help="list the scenarios and exit")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="draw pictures (SVG) into this folder"
    )
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command and return the exit status."""
    parsed = build_parser().parse_args(arguments)
    if parsed.list:
        print(scenario_lines())
        return 0
    if parsed.name not in registry.SCENARIOS:
        wrong = f"{parsed.name!r} is no scenario" if parsed.name else "a scenario's name is missing"
        print(f"mock-kafka scenario: {wrong}\n{scenario_lines()}", file=sys.stderr)
        return USAGE_ERROR
    try:
        with silenced(), _running(parsed.name):
            return registry.run(parsed.name, parsed.out)
    except MissingLibraryError as error:
        print(f"mock-kafka scenario: {error}", file=sys.stderr)
        return 1


@contextmanager
def _running(name: str) -> Iterator[None]:
    """Show on a terminal for how long a scenario has run: some print nothing for minutes."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(
        *columns,
        console=console,
        transient=True,
        disable=not console.is_terminal,
        # Into a file go the scenario's own lines only.
        redirect_stdout=sys.stdout.isatty(),
    ) as progress:
        progress.add_task(name)
        yield


def scenario_lines() -> str:
    """Return a line for each scenario."""
    return "\n".join(
        f"  {name:18} {scenario.help}" for name, scenario in registry.SCENARIOS.items()
    )
