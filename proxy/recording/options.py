"""The options about what a recording keeps, of `mock-kafka record` and `mock-kafka proxy`."""

import argparse
from pathlib import Path

BYTES_MAX = 8 * 1024 * 1024
RECORDS_MAX = 1000
ALL_RECORDS = "all"
READ_UNCOMMITTED, READ_COMMITTED = "read_uncommitted", "read_committed"


def add_record_options(parser: argparse.ArgumentParser, records: int | None = None) -> None:
    """Add the options about what a recording keeps.

    `records` is the default of `--records`; None stands for the records that pass by.
    """
    parser.add_argument(
        "--topics", default="*", metavar="GLOB", help="only topics whose name fits; quote it"
    )
    rules = parser.add_mutually_exclusive_group()
    rules.add_argument(
        "--scrub", type=Path, metavar="FILE", help="drop, hash or replace by the rules of this file"
    )
    rules.add_argument(
        "--unscrubbed", action="store_true", help="write keys, values and headers as they are"
    )
    rules.add_argument("--no-records", action="store_true", help="write no records")
    parser.add_argument(
        "--records",
        type=_records_max,
        default=records,
        metavar="N",
        help="how many of the last records of each partition, or `all`"
        f" (default: {'those that were seen' if records is None else records})",
    )
    parser.add_argument(
        "--bytes-max",
        type=_bytes_max,
        default=BYTES_MAX,
        metavar="BYTES",
        help="of all records together; the oldest are left out (default: %(default)s)",
    )
    parser.add_argument(
        "--isolation-level",
        choices=(READ_COMMITTED, READ_UNCOMMITTED),
        default=READ_COMMITTED,
        help=f"with {READ_UNCOMMITTED} also records of open and aborted transactions"
        " (default: %(default)s)",
    )


def _records_max(text: str) -> int | str:
    return text if text == ALL_RECORDS else _bytes_max(text)


def _bytes_max(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of at least 1")
    return int(text)
