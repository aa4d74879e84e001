"""`mock-kafka atlas --out DIR`: run a matrix, then write its figures and the map."""

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from atlas.adapter_process import AdapterError, AdapterProcess
from atlas.clients import CLIENTS, OLDER_RELEASES, atlas_version
from atlas.matrix_plan import ClientRelease, in_tasks, missing, planned
from atlas.rows import EXPERIMENTS
from atlas.situation import load_situations
from loadgen.command_error import CommandError
from loadgen.spark_session import first_line, load_session
from loadgen.storage import Storage
from scenarios.maven import CannotRunError

SPARK_SETTINGS = {
    "spark.app.name": "mock-kafka atlas",
    "spark.python.worker.reuse": "true",
    # A worker that has nothing to do stays, with its lanes.
    "spark.python.worker.idleTimeoutSeconds": "0",
    # A run has thousands of rows to plan and to count, not millions.
    "spark.sql.shuffle.partitions": "8",
    # Unlike a load, a task may run again: its rows have a name that follows from the experiments.
    "spark.task.maxFailures": "4",
    "spark.stage.maxConsecutiveAttempts": "4",
}


def run(options: argparse.Namespace) -> int:
    """Run what the folder does not have yet, and write the figures and the map of all it has.

    Returns:
        The exit status: 1 if an executor can't run a client.

    Raises:
        CommandError: the folder can't be used, or Spark does not start.
        SituationError: there is no such situation.
    """
    from atlas import results  # noqa: PLC0415 - slow to import
    from atlas.engine import run_matrix  # noqa: PLC0415

    situations = load_situations(options.situations.split(","))
    releases = list(_releases(options.clients))
    storage = Storage(options.out)
    storage.create(EXPERIMENTS)
    failures: list[str] = []
    with TemporaryDirectory() as folder:
        logs = Path(options.out) if storage.is_local else Path(folder)
        with load_session(options.master, logs, SPARK_SETTINGS, options.environment) as spark:
            seeds = range(1, options.seeds + 1)
            every = planned(spark, releases, situations.values(), seeds, atlas_version())
            tasks, count = in_tasks(missing(every, storage), options.lanes)
            total = len(releases) * len(situations) * options.seeds
            if count:
                with _progress() as progress, _one_line():
                    bar = progress.add_task("experiments", total=total)
                    done = run_matrix(
                        tasks,
                        storage,
                        options.lanes,
                        show=lambda written: progress.update(bar, completed=written),
                    )
                print(f"{done.experiments} experiments")
                failures = done.failures
            else:
                print("all experiments are there")
            matrix = results.write(spark, storage, _command(options))
    print("\n".join([*results.count_lines(matrix), f"map: {storage.of(results.MAP)}"]))
    for why, count in Counter(failures).items():
        print(f"{count} experiments not run: {why}", file=sys.stderr)
    return int(bool(failures))


@contextmanager
def _one_line() -> Iterator[None]:
    """Raise what ends Spark's job as one line: only a JVM that runs can say what it was."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped] # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise CommandError(f"the experiments stopped: {first_line(error)}") from error


def _command(options: argparse.Namespace) -> str:
    words = ["mock-kafka", "atlas", "--out", "DIR", "--situations", options.situations]
    words += ["--seeds", str(options.seeds)]
    words += ["--clients", options.clients] if options.clients else []
    return shlex.join(words)


def _progress() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn(), console=console, redirect_stdout=False)


def _releases(names: str | None) -> Sequence[ClientRelease]:
    """Return the clients to run, with the versions that their adapters say.

    Without names it is the newest release of each library in Python, and all others. A client that
    can't run here is left out, unless it was named.

    Raises:
        CommandError: a client that was named is unknown or can't run here.
    """
    newest = [name for name in CLIENTS if name not in OLDER_RELEASES]
    wanted_names = newest if names is None else names.split(",")
    releases = []
    for name in wanted_names:
        if name not in CLIENTS:
            raise CommandError(f"no client {name!r}; known: {', '.join(CLIENTS)}")
        try:
            command = CLIENTS[name].start()
            adapter = AdapterProcess(command.words, command.environment)
        except (AdapterError, CannotRunError) as error:
            if names is not None:
                raise CommandError(f"{name} can't run here: {error}") from error
            print(f"without {name}: {error}", file=sys.stderr)
            continue
        releases.append(ClientRelease(name, str(adapter.ready["version"])))
        adapter.end()
    return releases


def difference_lines(before: Storage, after: Storage) -> tuple[list[str], bool]:
    """Return a line for each cell that differs, and whether one is worse.

    Raises:
        CommandError: a folder has no run, or Spark does not start.
    """
    from atlas.analysis import changes  # noqa: PLC0415 - slow to import

    for storage in (before, after):
        if not storage.names(EXPERIMENTS):
            raise CommandError(f"{storage.url} has no run")
    with (
        TemporaryDirectory() as folder,
        load_session("local[2]", Path(folder), SPARK_SETTINGS) as spark,
    ):
        found = changes(spark, before, after)
    lines = []
    for row in found:
        word = "worse" if row["is_regression"] else "other"
        versions = " -> ".join(dict.fromkeys((row["before_version"], row["after_version"])))
        cells = f"{row['before_cell']} -> {row['after_cell']}"
        flaky = " (flaky)" if row["is_flaky"] else ""
        why = "; ".join(row["reasons"])
        lines.append(
            f"{word}  {row['client']} {versions}  {row['situation']}: {cells}{flaky}  {why}"
        )
    return lines, any(row["is_regression"] and not row["is_flaky"] for row in found)
