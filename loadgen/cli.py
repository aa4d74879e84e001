"""`mock-kafka load`: the command line of the load generator."""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from client.errors import ClientError
from loadgen.admin_port import AdminPortError
from loadgen.load_run import LoadError, OwnBrokerFactory, run
from loadgen.plan.plan_file import built_in_plans
from loadgen.plan.yaml_reader import PlanError
from loadgen.preparation import PreparationError
from loadgen.spark_session import SessionError, load_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USAGE_ERROR, INTERRUPTED = 2, 130


def parser_of(program: str) -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    plans = "\n".join(f"  {name:16} {text}" for name, text in built_in_plans().items())
    parser = argparse.ArgumentParser(
        prog=program,
        description="Run a load plan against a Kafka cluster and check the cluster's guarantees.",
        epilog=f"built-in plans:\n{plans}\n\nHow to write a plan: docs/load.md.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("plan", metavar="PLAN_OR_NAME", help="a YAML file or a built-in plan")
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT[,HOST:PORT...]",
        help="the cluster; by default a mock-kafka cluster with the plan's quotas is started",
    )
    parser.add_argument(
        "--set-quotas", action="store_true", help="set the plan's quotas on that cluster"
    )
    parser.add_argument(
        "--admin", metavar="URL", help="admin port of that cluster, for quotas in shadow mode"
    )
    parser.add_argument(
        "--admin-token",
        metavar="TOKEN",
        help="value of its broker.admin.token; '${env:NAME}' is an environment variable",
    )
    parser.add_argument("--master", default="local[2]", help="Spark master (default: local[2])")
    parser.add_argument(
        "--workers", type=int, help="number of sending tasks (default: one per local slot)"
    )
    parser.add_argument(
        "--rate-scale", type=float, default=1.0, metavar="X", help="multiply all rates by X"
    )
    parser.add_argument(
        "--duration", type=float, metavar="S", help="duration in seconds, instead of the plan's"
    )
    parser.add_argument("--seed", type=int, help="seed, instead of the plan's")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="output directory")
    return parser


def main(arguments: Sequence[str], own_broker: OwnBrokerFactory) -> int:
    """Run a plan in a new Spark session; return the exit status."""
    options = parser_of("mock-kafka load").parse_args(arguments)

    @contextmanager
    def session() -> Iterator["SparkSession"]:
        with load_session(options.master, options.out) as spark:
            yield spark

    return run_to_exit_status(lambda: run(options, session, own_broker))


def run_to_exit_status(action: Callable[[], int]) -> int:
    """Call `action` and return its exit status, or the status of its error.

    SIGTERM acts like Ctrl-C, so that it also stops the cluster and the JVM.
    """
    previous = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        return action()
    except (
        AdminPortError,
        ClientError,
        LoadError,
        PlanError,
        PreparationError,
        SessionError,
    ) as error:
        print(f"mock-kafka load: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("mock-kafka load: interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, previous)
