"""`mock-kafka load summarize`: summarise a run again, for example after its driver has died."""

import argparse
import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from loadgen.options import add_environment
from loadgen.outputs import exit_status_of, print_outputs, summary_of_run, write_outputs
from loadgen.run_record import read_record, run_ids
from loadgen.spark_session import load_session, spark_settings
from loadgen.storage import Storage, StorageError, checked_url, settings_of


def main(arguments: Sequence[str]) -> int:
    """Summarise a run from its rows; return the exit status of a load.

    Raises:
        StorageError: there is no such run, or its files cannot be read or written.
        PackError: there is no such archive.
        SessionError: Spark does not start.
    """
    options = _parser().parse_args(arguments)
    storage = Storage(checked_url(options.out))
    with tempfile.TemporaryDirectory() as folder:
        with load_session(options.master, Path(folder), None, options.environment) as spark:
            storage = dataclasses.replace(storage, settings=settings_of(spark_settings(spark)))
            record = read_record(storage, options.run or _latest(storage))
            summarised = summary_of_run(spark, storage, record)
        write_outputs(summarised, record, storage)
    print_outputs(summarised.summary, storage)
    return exit_status_of(summarised.summary, Console(stderr=True))


def _latest(storage: Storage) -> str:
    """Return the run that started last.

    Raises:
        StorageError: there is none.
    """
    found = run_ids(storage)
    if not found:
        raise StorageError(f"{storage.url} has no results of a run")
    return max(found, key=lambda run_id: run_id.rpartition("-")[2])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mock-kafka load summarize",
        description="Compute the summary and the report of a run again from its rows.",
    )
    parser.add_argument("out", metavar="DIR", help="the --out of the run")
    parser.add_argument("--run", metavar="ID", help="by default the run that started last")
    parser.add_argument("--master", default="local[2]", help="Spark master (default: local[2])")
    add_environment(parser)
    return parser
