"""`mock-kafka load`: the command line of the load generator."""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from client.errors import ClientError
from loadgen import class_archive
from loadgen.command_error import CommandError
from loadgen.load_run import OwnBrokerFactory, run
from loadgen.options import parser_of
from loadgen.spark_session import load_session
from loadgen.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USAGE_ERROR, INTERRUPTED = 2, 130
SUBCOMMANDS = {
    "archive-classes": ".archive_classes",
    "compare": ".compare",
    "learn": ".learn",
    "pack": ".pack",
    "quotas": ".propose_quotas",
    "summarize": ".summarize",
}
"""Names that come before the other arguments, and their modules, which a run does not import.

A plan file with such a name is `./NAME`."""


def main(arguments: Sequence[str], own_broker: OwnBrokerFactory) -> int:
    """Run a plan in a new Spark session, or a subcommand; return the exit status."""
    if arguments and arguments[0] in SUBCOMMANDS:
        command: Callable[[Sequence[str]], int] = import_module(
            SUBCOMMANDS[arguments[0]], __package__
        ).main
        return run_to_exit_status(lambda: command(arguments[1:]))
    if arguments and arguments[0] == "find":
        from loadgen import find  # noqa: PLC0415 - as in SUBCOMMANDS

        return run_to_exit_status(lambda: find.main(arguments[1:], own_broker))
    if arguments and arguments[0] == "replay":
        from loadgen import replay  # noqa: PLC0415 - the same

        return run_to_exit_status(lambda: replay.main(arguments[1:], own_broker, _session))
    options = parser_of("mock-kafka load").parse_args(arguments)
    return run_to_exit_status(
        lambda: run(options, lambda: _session(options), own_broker, ends_session=True)
    )


@contextmanager
def _session(options: argparse.Namespace) -> Iterator["SparkSession"]:
    with ExitStack() as stack:
        is_local = Storage(options.out).is_local
        folder = options.out if is_local else stack.enter_context(TemporaryDirectory())
        yield stack.enter_context(
            load_session(
                options.master,
                Path(folder),
                environment=options.environment,
                jvm_options=class_archive.options(),
                starts_workers=True,
            )
        )


def run_to_exit_status(action: Callable[[], int]) -> int:
    """Call `action` and return its exit status, or the status of its error.

    SIGTERM acts like Ctrl-C, so that it also stops the cluster and the JVM.
    """
    previous = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        return action()
    except (ClientError, CommandError) as error:
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
