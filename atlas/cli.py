"""`mock-kafka atlas`: run one experiment and print its timeline, or list clients and situations."""

import argparse
import sys
from collections.abc import Callable, Sequence

from atlas.adapter_process import AdapterError
from atlas.clients import CLIENTS, why_missing
from atlas.experiment import LIMIT_S, Experiment
from atlas.lane import Lane
from atlas.run_command import add_run_options
from atlas.run_command import run as run_matrix
from atlas.situation import SituationError, load_situation, load_situations
from atlas.timeline import as_text, summary, timeline_of
from scenarios.maven import CannotRunError

USAGE_ERROR = 2


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    parser = argparse.ArgumentParser(
        prog="mock-kafka atlas",
        description="What client libraries do with everything that a broker can answer.",
    )
    add_run_options(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    one = commands.add_parser("try", help="run one experiment here, and print its timeline")
    one.add_argument("client", metavar="CLIENT", help="a client of `mock-kafka atlas list`")
    one.add_argument("situation", metavar="SITUATION", help="a situation of the list")
    one.add_argument("--seed", type=int, default=1, metavar="N", help="for rules at random")
    one.add_argument("--repeat", type=int, default=1, metavar="N", help="so many times")
    one.add_argument(
        "--limit", type=float, default=LIMIT_S, metavar="S", help="seconds it may take"
    )
    one.add_argument("--log", action="store_true", help="print the client's own log, too")
    one.set_defaults(run=_try)
    listing = commands.add_parser("list", help="list the clients and the situations")
    listing.add_argument("pattern", nargs="*", default=["*"], metavar="GLOB", help="situations")
    listing.set_defaults(run=_list)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command and return the exit status."""
    parsed = build_parser().parse_args(arguments)
    if parsed.command is None and parsed.out is None:
        print("mock-kafka atlas: a run needs --out DIR", file=sys.stderr)
        return USAGE_ERROR
    run: Callable[[argparse.Namespace], int] = getattr(parsed, "run", run_matrix)
    try:
        return run(parsed)
    except (SituationError, CannotRunError, AdapterError) as error:
        print(f"mock-kafka atlas: {error}", file=sys.stderr)
        return 1


def _try(parsed: argparse.Namespace) -> int:
    if parsed.client not in CLIENTS:
        known = ", ".join(CLIENTS)
        print(f"mock-kafka atlas: no client {parsed.client!r}; known: {known}", file=sys.stderr)
        return USAGE_ERROR
    situation = load_situation(parsed.situation)
    lane = Lane(parsed.client)
    try:
        for number in range(parsed.repeat):
            seed = parsed.seed + number
            result = lane.run(Experiment(parsed.client, situation, seed, parsed.limit))
            print(f"{parsed.client} {result.client_version}, {situation.id}: {situation.title}")
            print("\n".join(as_text(timeline_of(result))))
            print("\n".join(summary(result)))
            if parsed.log:
                print(result.log)
    finally:
        lane.close()
    return 0


def _list(parsed: argparse.Namespace) -> int:
    print("clients")
    for name, client in CLIENTS.items():
        reason = why_missing(name)
        print(f"  {name:20} {client.language:8} {reason or ''}".rstrip())
    print("situations")
    for situation in load_situations(parsed.pattern).values():
        print(f"  {situation.id:40} {situation.title}")
    return 0
