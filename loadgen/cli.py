"""`mock-kafka load`: the command line of the load generator."""

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from client.errors import ClientError
from loadgen.admin_port import AdminPortError
from loadgen.load_run import LoadError, OwnBrokerFactory, run
from loadgen.options import parser_of
from loadgen.plan.yaml_reader import PlanError
from loadgen.preparation import PreparationError
from loadgen.spark_session import SessionError, load_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USAGE_ERROR, INTERRUPTED = 2, 130


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
    except (Exception, KeyboardInterrupt) as error:
        if not _is_interrupt(error):
            raise
        print("mock-kafka load: interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, previous)


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is, or followed from, Ctrl-C, which breaks a connection of Py4J."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
