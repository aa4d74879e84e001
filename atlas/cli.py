"""`mock-kafka atlas`: run one experiment and print its timeline, or list clients and situations."""

import argparse
import sys
from collections.abc import Callable, Sequence

from atlas.adapter_process import AdapterError
from atlas.clients import CLIENTS, why_missing
from atlas.experiment import LIMIT_S, Experiment
from atlas.lane import Lane
from atlas.situation import SituationError, load_situation, load_situations
from atlas.timeline import summary, timeline
from scenarios.maven import CannotRunError

USAGE_ERROR = 2


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    parser = argparse.ArgumentParser(
        prog="mock-kafka atlas",
        description="What client libraries do with everything that a broker can answer.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
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
    run: Callable[[argparse.Namespace], int] = parsed.run
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
            print("\n".join(timeline(result.observation)))
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
