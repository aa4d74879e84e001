"""`mock-kafka load`: the command line of the load generator."""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from client.errors import ClientError
from loadgen import compare, find, learn, pack, propose_quotas, replay, summarize
from loadgen.admin_port import AdminPortError
from loadgen.load_run import LoadError, OwnBrokerFactory, run
from loadgen.options import master_of, parser_of
from loadgen.plan.yaml_reader import PlanError
from loadgen.preparation import PreparationError
from loadgen.quota_trials.proposals import ProtectionError
from loadgen.spark_session import SessionError, load_session
from loadgen.storage import Storage, StorageError
from loadgen.traces.trace_file import TraceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USAGE_ERROR, INTERRUPTED = 2, 130
SUBCOMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "compare": compare.main,
    "learn": learn.main,
    "pack": pack.main,
    "quotas": propose_quotas.main,
    "summarize": summarize.main,
}
"""Names that come before the other arguments; a plan file with such a name is `./NAME`."""


def main(arguments: Sequence[str], own_broker: OwnBrokerFactory) -> int:
    """Run a plan in a new Spark session, or a subcommand; return the exit status."""
    if arguments and arguments[0] in SUBCOMMANDS:
        command = SUBCOMMANDS[arguments[0]]
        return run_to_exit_status(lambda: command(arguments[1:]))
    if arguments and arguments[0] == "find":
        return run_to_exit_status(lambda: find.main(arguments[1:], own_broker))
    if arguments and arguments[0] == "replay":
        return run_to_exit_status(lambda: replay.main(arguments[1:], own_broker, _session))
    options = parser_of("mock-kafka load").parse_args(arguments)
    return run_to_exit_status(lambda: run(options, lambda: _session(options), own_broker))


@contextmanager
def _session(options: argparse.Namespace) -> Iterator["SparkSession"]:
    with ExitStack() as stack:
        is_local = Storage(options.out).is_local
        folder = options.out if is_local else stack.enter_context(TemporaryDirectory())
        yield stack.enter_context(
            load_session(master_of(options), Path(folder), environment=options.environment)
        )


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
        pack.PackError,
        PlanError,
        PreparationError,
        ProtectionError,
        SessionError,
        StorageError,
        TraceError,
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
