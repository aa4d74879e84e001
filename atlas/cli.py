"""`mock-kafka atlas`: run a matrix or one experiment, compare runs, list clients and situations."""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from atlas.adapter_process import AdapterError
from atlas.clients import CLIENTS
from atlas.experiment import LIMIT_S, Experiment, Result
from atlas.lane import Lane
from atlas.run_options import add_run_options, folder_url
from atlas.situation import SituationError, load_situation, load_situations
from atlas.timeline import as_text, summary, timeline_of
from client.errors import ClientError
from loadgen.command_error import CommandError
from loadgen.pack import archive_path
from loadgen.storage import Storage
from mock_kafka.missing_requirements import explanation
from scenarios.maven import CannotRunError

USAGE_ERROR, INTERRUPTED = 2, 130


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
    one.add_argument(
        "--bootstrap-server", metavar="HOST:PORT", help="run it against this Apache Kafka instead"
    )
    one.add_argument(
        "--sasl-bootstrap-server", metavar="HOST:PORT", help="its listener with SASL, if it has one"
    )
    one.set_defaults(run=_try)
    listing = commands.add_parser("list", help="list the clients and the situations")
    listing.add_argument("pattern", nargs="*", default=["*"], metavar="GLOB", help="situations")
    listing.set_defaults(run=_list)
    _add_commands_for_runs(commands)
    return parser


def _add_commands_for_runs(commands: Any) -> None:
    again = commands.add_parser("replay", help="run an experiment of a run again, and compare")
    again.add_argument("id", metavar="ID", help="the id of an experiment, or how it begins")
    again.add_argument(
        "--out", type=folder_url, metavar="DIR", required=True, help="the folder of the run"
    )
    again.add_argument("--log", action="store_true", help="print the client's own log, too")
    again.set_defaults(run=_replay)
    differences = commands.add_parser("diff", help="list the cells that differ between two runs")
    for name in ("before", "after"):
        differences.add_argument(name, type=folder_url, metavar="DIR", help="the folder of a run")
    differences.set_defaults(run=_diff)
    packing = commands.add_parser("pack", help="pack what the executors of a cluster need")
    packing.add_argument("archive", type=archive_path, metavar="FILE.tar.gz")
    packing.set_defaults(run=_pack)
    check = commands.add_parser("check", help="fail if a run is worse than a baseline file")
    check.add_argument("folder", type=folder_url, metavar="DIR", help="the folder of a run")
    check.add_argument("--baseline", type=Path, metavar="FILE", required=True, help="a JSON file")
    check.add_argument("--write", action="store_true", help="write the baseline instead")
    check.add_argument("--junit", type=Path, metavar="FILE", help="write a report of JUnit, too")
    check.set_defaults(run=_check)


def main(arguments: Sequence[str]) -> int:
    """Run the command and return the exit status."""
    parsed = build_parser().parse_args(arguments)
    if parsed.command is None and parsed.out is None:
        print("mock-kafka atlas: a run needs --out DIR", file=sys.stderr)
        return USAGE_ERROR
    run: Callable[[argparse.Namespace], int] = getattr(parsed, "run", _run_matrix)
    try:
        return run(parsed)
    except (SituationError, CannotRunError, AdapterError, ClientError, CommandError) as error:
        print(f"mock-kafka atlas: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _run_matrix(parsed: argparse.Namespace) -> int:
    _require_spark()
    from atlas.run_command import run  # noqa: PLC0415 - slow to import

    return run(parsed)


def _require_spark() -> None:
    try:
        import pyspark  # noqa: F401, PLC0415 - an optional dependency
    except ModuleNotFoundError as error:
        raise CommandError(f"a run needs {explanation('spark') or error}") from error


def _try(parsed: argparse.Namespace) -> int:
    if parsed.client not in CLIENTS:
        known = ", ".join(CLIENTS)
        print(f"mock-kafka atlas: no client {parsed.client!r}; known: {known}", file=sys.stderr)
        return USAGE_ERROR
    situation = load_situation(parsed.situation)
    with closing(_lane(parsed)) as lane:
        for number in range(parsed.repeat):
            seed = parsed.seed + number
            result = lane.run(Experiment(parsed.client, situation, seed, parsed.limit))
            _show(result, has_log=parsed.log)
    return 0


def _lane(parsed: argparse.Namespace) -> Lane:
    if parsed.bootstrap_server is None:
        return Lane(parsed.client)
    from atlas.kafka_lane import KafkaLane  # noqa: PLC0415 - needs kafka-python
    from atlas.kafka_target import KafkaTarget  # noqa: PLC0415 - needs kafka-python

    servers = parsed.bootstrap_server
    target = KafkaTarget(servers, sasl_servers=parsed.sasl_bootstrap_server)
    return KafkaLane(parsed.client, target)


def _show(result: Result, *, has_log: bool) -> None:
    client, situation = result.experiment.client, result.experiment.situation
    print(f"{client} {result.client_version}, {situation.id}: {situation.title}")
    print("\n".join(as_text(timeline_of(result))))
    print("\n".join(summary(result)))
    if has_log:
        print(result.log)


def _replay(parsed: argparse.Namespace) -> int:
    """Exit with 1 if the cell is another one now."""
    from atlas import results  # noqa: PLC0415 - slow to import

    cells = results.read(Storage(parsed.out))["cells"]
    found = [row for row in cells if row["experiment_id"].startswith(parsed.id)]
    if len(found) != 1:
        raise CommandError(f"{len(found)} experiments of the matrix have an id like {parsed.id!r}")
    (row,) = found
    with closing(Lane(row["client"])) as lane:
        situation = load_situation(row["situation"])
        result = lane.run(Experiment(row["client"], situation, row["seed"]))
    _show(result, has_log=parsed.log)
    print(f"\nin the run {row['cell']}, now {result.cell}")
    return int(result.cell != row["cell"])


def _diff(parsed: argparse.Namespace) -> int:
    """Exit with 1 if there is a regression."""
    _require_spark()
    from atlas.run_command import difference_lines  # noqa: PLC0415 - slow to import

    lines, is_worse = difference_lines(Storage(parsed.before), Storage(parsed.after))
    print("\n".join(lines) if lines else "no cell differs")
    return int(is_worse)


def _check(parsed: argparse.Namespace) -> int:
    """Exit with 1 if there is a regression."""
    from atlas import baseline, results  # noqa: PLC0415 - slow to import

    cells = results.read(Storage(parsed.folder))["cells"]
    if parsed.write:
        baseline.write_baseline(parsed.baseline, cells)
        print(f"{len(cells)} cells in {parsed.baseline}")
        return 0
    failed = baseline.regressions(baseline.read_baseline(parsed.baseline), cells)
    if parsed.junit is not None:
        parsed.junit.write_text(baseline.junit(cells, failed), encoding="utf-8")
    print("\n".join([*map(str, failed), f"{len(failed)} regressions in {len(cells)} cells"]))
    return int(bool(failed))


def _pack(parsed: argparse.Namespace) -> int:
    from atlas import pack  # noqa: PLC0415 - only with this command

    pack.write(parsed.archive)
    return 0


def _list(parsed: argparse.Namespace) -> int:
    print("clients")
    for name, client in CLIENTS.items():
        print(f"  {name:20} {client.language}")
    print("situations")
    for situation in load_situations(parsed.pattern).values():
        print(f"  {situation.id:40} {situation.title}")
    return 0
