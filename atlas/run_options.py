"""The options of `mock-kafka atlas --out DIR`; nothing here needs Spark."""

import argparse
from pathlib import Path

from loadgen.storage import StorageError, checked_url

MASTER, LANES = "local[2]", 6


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run."""
    parser.add_argument(
        "--out", type=folder_url, metavar="DIR", help="where rows, figures and the map are written"
    )
    parser.add_argument(
        "--master", default=MASTER, metavar="URL", help=f"of Spark; by default {MASTER}"
    )
    parser.add_argument(
        "--clients", metavar="NAME,...", help="by default the newest of each library"
    )
    parser.add_argument(
        "--situations", default="*", metavar="GLOB,...", help="by default all of them"
    )
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="how often each client is in each one"
    )
    parser.add_argument(
        "--lanes",
        type=int,
        default=LANES,
        metavar="N",
        help=f"experiments at the same time in a task, by default {LANES}: clients mostly wait",
    )
    parser.add_argument(
        "--environment", type=Path, metavar="FILE.tar.gz", help="an archive for the executors"
    )


def folder_url(text: str) -> str:
    """Return the folder of a run, as an absolute path or a URL."""
    try:
        return checked_url(text)
    except StorageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
