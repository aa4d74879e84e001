"""The options of `mock-kafka load`; nothing here needs the packages of the load generator."""

import argparse
from pathlib import Path

from loadgen.plans import built_in_plans
from loadgen.storage import StorageError, checked_url

SUBCOMMANDS = {
    "archive-classes": "keep the classes that Spark loads in a file, so that runs start faster",
    "compare": "compare runs, with confidence intervals over seeds",
    "find": "raise one dimension of a plan until a check or an objective breaks",
    "learn": "make a plan of recorded traffic",
    "pack": "pack what the workers of a Spark cluster need into one archive",
    "quotas": "propose quotas for recorded or planned traffic, and show who they would throttle",
    "replay": "send recorded traffic again, scaled in time and number",
    "summarize": "compute the summary and the report of a run again from its rows",
}
"""The first argument of another command and what it does; each has its own --help."""

MASTER = "local[2]"


def parser_of(program: str) -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    plans = "\n".join(f"  {name:16} {text}" for name, text in built_in_plans().items())
    commands = "\n".join(f"  load {name:15} {text}" for name, text in SUBCOMMANDS.items())
    parser = argparse.ArgumentParser(
        prog=program,
        description="Run a load plan against a Kafka cluster and check the cluster's guarantees.",
        epilog=f"built-in plans:\n{plans}\n\nother commands:\n{commands}\n\n"
        "How to write a plan: docs/load.md.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_target_options(parser)
    add_live_options(parser)
    add_plan_options(parser)
    parser.add_argument(
        "--rate-scale", type=float, default=1.0, metavar="X", help="multiply all rates by X"
    )
    parser.add_argument(
        "--duration", type=float, metavar="S", help="duration in seconds, instead of the plan's"
    )
    return parser


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Add `others`, the plans besides the first one."""
    parser.add_argument(
        "--with",
        dest="others",
        action="append",
        default=[],
        metavar="PLAN_OR_NAME",
        help="another plan at the same time; may be repeated",
    )


def add_target_options(
    parser: argparse.ArgumentParser,
    name: str = "plan",
    metavar: str = "PLAN_OR_NAME",
    meaning: str = "a YAML file or a built-in plan",
) -> None:
    """Add what each command needs that runs a load: its source, target, Spark, seed and output.

    `name`, `metavar` and `meaning` are those of the argument for the source.
    """
    parser.add_argument(name, metavar=metavar, help=meaning)
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT[,HOST:PORT...]",
        help="the cluster; by default a mock-kafka cluster with the plan's quotas is started",
    )
    parser.add_argument(
        "--set-quotas", action="store_true", help="set the plan's quotas on that cluster"
    )
    parser.add_argument(
        "--admin",
        metavar="URL",
        help="mock-kafka's admin port of that cluster, or of a proxy in front of it: for faults"
        " and for quotas in shadow mode",
    )
    parser.add_argument(
        "--admin-token",
        metavar="TOKEN",
        help="value of its broker.admin.token; '${env:NAME}' is an environment variable",
    )
    parser.set_defaults(live_port=None, live_host="127.0.0.1")
    parser.add_argument("--master", default=MASTER, help="Spark master (default: %(default)s)")
    add_environment(parser)
    parser.add_argument(
        "--workers", type=int, help="number of sending tasks (default: one per local slot)"
    )
    parser.add_argument("--seed", type=int, help="seed, instead of the plan's")
    parser.add_argument(
        "--out",
        type=_folder,
        required=True,
        metavar="DIR",
        help="output directory, or file://, s3a:// or hdfs:// URL of one",
    )


def add_environment(parser: argparse.ArgumentParser) -> None:
    """Add what brings this program to the workers of a cluster."""
    parser.add_argument(
        "--environment",
        type=_archive,
        metavar="FILE.tar.gz",
        help="archive of `mock-kafka load pack`, for a cluster whose workers have only Python",
    )


def add_live_options(parser: argparse.ArgumentParser) -> None:
    """Add where the live page of a run is served."""
    parser.add_argument(
        "--live-port",
        type=int,
        metavar="N",
        help="port of a page with the figures so far, and of /metrics for Prometheus; 0: any free"
        " one",
    )
    parser.add_argument(
        "--live-host", metavar="HOST", help="address of the live page (default: 127.0.0.1)"
    )


def _folder(text: str) -> str:
    try:
        return checked_url(text)
    except StorageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _archive(text: str) -> Path:
    # Found missing by Spark's session, it would be missing after the topics and quotas are made.
    archive = Path(text)
    if not archive.is_file():
        raise argparse.ArgumentTypeError(
            f"there is no archive {text}; `mock-kafka load pack` makes one"
        )
    return archive
