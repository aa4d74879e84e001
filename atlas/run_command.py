"""`mock-kafka atlas --out DIR`: run a matrix, then write its figures and the map."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from atlas.adapter_process import AdapterError, AdapterProcess
from atlas.clients import CLIENTS, atlas_version
from atlas.matrix_plan import ClientRelease, in_tasks, missing, planned
from atlas.rows import EXPERIMENTS
from atlas.situation import load_situations
from loadgen.command_error import CommandError
from loadgen.spark_session import load_session
from loadgen.storage import Storage, checked_url
from scenarios.maven import CannotRunError

MASTER = "local[2]"
SPARK_SETTINGS = {
    "spark.app.name": "mock-kafka atlas",
    "spark.python.worker.reuse": "true",
    # A worker that has nothing to do stays, with its lanes.
    "spark.python.worker.idleTimeoutSeconds": "0",
}


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run."""
    parser.add_argument(
        "--out", type=checked_url, metavar="DIR", help="where rows, figures and the map are written"
    )
    parser.add_argument(
        "--master", default=MASTER, metavar="URL", help=f"of Spark; by default {MASTER}"
    )
    parser.add_argument("--clients", metavar="NAME,...", help="by default all that can run here")
    parser.add_argument(
        "--situations", default="*", metavar="GLOB,...", help="by default all of them"
    )
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="how often each client is in each one"
    )
    parser.add_argument(
        "--environment", type=Path, metavar="FILE.tar.gz", help="an archive for the executors"
    )


def run(options: argparse.Namespace) -> int:
    """Run what the folder does not have yet, and write the figures and the map of all it has.

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
    with TemporaryDirectory() as folder:
        logs = Path(options.out) if storage.is_local else Path(folder)
        with load_session(options.master, logs, SPARK_SETTINGS, options.environment) as spark:
            seeds = range(1, options.seeds + 1)
            matrix = planned(spark, releases, situations.values(), seeds, atlas_version())
            tasks, count = in_tasks(missing(matrix, storage))
            total = len(releases) * len(situations) * options.seeds
            if count:
                with _progress() as progress:
                    bar = progress.add_task("experiments", total=total)
                    count = run_matrix(
                        tasks,
                        storage,
                        show=lambda written: progress.update(bar, completed=written),
                    )
                print(f"{count} experiments")
            else:
                print("all experiments are there")
            matrix = results.write(spark, storage, _command(options))
    print("\n".join([*results.count_lines(matrix), f"map: {storage.of(results.MAP)}"]))
    return 0


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

    A client that can't run here is left out, unless it was named.

    Raises:
        CommandError: a client that was named is unknown or can't run here.
    """
    wanted_names = list(CLIENTS) if names is None else names.split(",")
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
