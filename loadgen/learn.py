"""`mock-kafka load learn`: make a plan of recorded traffic."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from loadgen.learning.learned_plan import DIMENSIONS, EVENTS_MIN, LearnedPlan, learn
from loadgen.learning.traffic import read_traffic
from loadgen.traces.trace_file import TRACE_HELP, TraceError


def main(arguments: Sequence[str]) -> int:
    """Write the plan of a trace and print how well it fits; return the exit status 0.

    Raises:
        TraceError: the trace cannot be read, nothing can be learned, or the plan cannot be written.
    """
    options = _parser().parse_args(arguments)
    trace, out = Path(options.trace), Path(options.out)
    try:
        found = learn(read_traffic(trace), out.stem, trace.name, options.events_min)
    except ValueError as error:
        raise TraceError(f"{trace}: {error}") from error
    try:
        out.write_text(found.text, encoding="utf-8")
    except OSError as error:
        raise TraceError(f"cannot write {out}: {error.strerror or error}") from error
    _print(found, out)
    return 0


def _print(found: LearnedPlan, out: Path) -> None:
    console = Console(stderr=True)
    table = Table("tenant", *(name.replace("_", " ") for name in DIMENSIONS))
    values = {(one.tenant, one.dimension): one.value for one in found.distances}
    for tenant in dict.fromkeys(one.tenant for one in found.distances):
        cells = (values.get((tenant, dimension)) for dimension in DIMENSIONS)
        table.add_row(tenant, *("-" if value is None else f"{value:.3f}" for value in cells))
    console.print(table)
    if found.left_out:
        listed = ", ".join(f"{api} {count:,}" for api, count in found.left_out.items())
        console.print(f"not in the plan: {listed}")
    console.print(f"{out}: {found.tenants} tenants")
    if found.needs_password:
        console.print("set LOAD_PASSWORD before a load: the tenants have users")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mock-kafka load learn",
        description="Make a plan of recorded traffic: arrivals, sizes, producer ids and tenants.",
    )
    parser.add_argument(
        "trace",
        metavar="TRACE",
        help=TRACE_HELP,
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="the plan file to write")
    parser.add_argument(
        "--events-min",
        type=int,
        default=EVENTS_MIN,
        metavar="N",
        help="leave out clients with fewer events of a kind (default: %(default)s)",
    )
    return parser
