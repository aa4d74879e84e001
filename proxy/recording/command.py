"""`mock-kafka record`: write the world of a Kafka cluster to a file."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from client.tools.session import ToolError, bootstrap_servers, exit_status, read_properties
from proxy.recording.options import ALL_RECORDS, READ_UNCOMMITTED, RECORDS_MAX, add_record_options
from proxy.recording.recording import Progress, Recording, RecordingOptions, summary_of
from proxy.recording.scrubbing import NO_RECORDS, UNSCRUBBED, Scrubbing
from proxy.recording.world import write_world

DESCRIPTION = """\
Write what a Kafka cluster has into one file, which MockKafka(snapshot="world.mk")
loads: topics with their configuration and last records, committed offsets, quotas,
ACLs, and the names of groups and users.
"""

EPILOG = """\
examples:
  mock-kafka record --from localhost:9092 --out world.mk --scrub scrub.yaml
  mock-kafka record --from localhost:9092 --out world.mk.gz --topics 'orders*' \\
      --records 100 --unscrubbed --to-config client.properties

Records may be data of customers. So they are written only with --scrub FILE, or with
--unscrubbed; --no-records writes none. A file of rules is such as:

  hash_key: ${env:SCRUB_KEY}
  topics:
    - match: orders*
      key: hash
      value:
        json:
          $.customer.email: hash
          $..card: {replace: '[0-9]{12}', with: 'xxx'}
          $.notes: drop
      headers: {trace-id: keep}

Secrets are never written: no passwords, no SCRAM keys, no delegation tokens, and no
values of sensitive configurations. docs/recorded-worlds.md describes all of it. Exit
status: 0 for success, 1 with one line on standard error, 2 for invalid arguments.
"""

ERROR_PREFIX = "mock-kafka record: "
CHOOSE_RECORDS = (
    "records may be data of customers: give --scrub FILE with rules, --unscrubbed to write them as"
    " they are, or --no-records"
)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="mock-kafka record",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--from",
        dest="bootstrap_server",
        required=True,
        type=bootstrap_servers,
        metavar="HOST:PORT[,HOST:PORT...]",
        help="bootstrap brokers of the cluster",
    )
    parser.add_argument(
        "--out", required=True, type=Path, metavar="FILE", help="compressed if it ends with .gz"
    )
    parser.add_argument(
        *("--to-config", "--command-config"),
        type=Path,
        metavar="FILE",
        help="client properties, as of mock-kafka topics --command-config",
    )
    add_record_options(parser, records=RECORDS_MAX)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    from loadgen.command_error import CommandError  # noqa: PLC0415 - see `scrubbing_of_options`

    parser = build_parser()
    parsed = parser.parse_args(arguments)
    try:
        scrubbing = scrubbing_of_options(parsed, os.environ)
    except ToolError as error:
        parser.error(str(error))
    except CommandError as error:
        print(f"{ERROR_PREFIX}{error}", file=sys.stderr)
        return 1
    return exit_status(partial(_record, parsed, scrubbing), ERROR_PREFIX)


def scrubbing_of_options(parsed: argparse.Namespace, environment: Mapping[str, str]) -> Scrubbing:
    """Return the rules that the options of `add_record_options` choose.

    Raises:
        ToolError: none is chosen, or the file cannot be read.
        CommandError: a field of the file is invalid.
    """
    if parsed.unscrubbed:
        return UNSCRUBBED
    if parsed.no_records:
        return NO_RECORDS
    if parsed.scrub is None:
        raise ToolError(CHOOSE_RECORDS)
    from proxy.recording.scrub_file import scrubbing_of  # noqa: PLC0415 - needs PyYAML

    try:
        text = parsed.scrub.read_text(encoding="utf-8")
    except OSError as error:
        raise ToolError(f"cannot read {parsed.scrub}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ToolError(f"cannot read {parsed.scrub}: {error}") from error
    return scrubbing_of(text, str(parsed.scrub), environment)


def recording_options(parsed: argparse.Namespace, scrubbing: Scrubbing) -> RecordingOptions:
    """Return the options of `add_record_options`."""
    return RecordingOptions(
        scrubbing,
        topic_glob=parsed.topics,
        reads_logs=parsed.records is not None,
        records_max=None if parsed.records == ALL_RECORDS else parsed.records,
        bytes_max=parsed.bytes_max,
        has_aborted=parsed.isolation_level == READ_UNCOMMITTED,
    )


def _record(parsed: argparse.Namespace, scrubbing: Scrubbing) -> None:
    recording = Recording(
        parsed.bootstrap_server,
        read_properties(parsed.to_config),
        recording_options(parsed, scrubbing),
        note=_note,
        progress=_progress() if sys.stderr.isatty() else None,
    )
    world = recording.document(recording.read())
    try:
        write_world(parsed.out, world)
    except OSError as error:
        raise ToolError(f"cannot write {parsed.out}: {error.strerror or error}") from error
    print(f"{parsed.out}: {summary_of(world)}")


def _progress() -> Progress:
    """Return what shows on a terminal how many partitions were read."""

    def show(read_count: int, partition_count: int, size_bytes: int) -> None:
        end = "\n" if read_count == partition_count else "\r"
        line = f"read {read_count} of {partition_count} partitions, {size_bytes >> 10} KiB"
        print(line, end=end, file=sys.stderr, flush=True)

    return show


def _note(line: str) -> None:
    print(line, file=sys.stderr)
