"""`mock-kafka topics --compact`: compact topics of a running cluster, through its admin port."""

import argparse
import os
import sys
from collections.abc import Sequence
from urllib.parse import quote

from mock_kafka.admin_commands import EPILOG, default_url
from mock_kafka.control import Control, ControlError
from mock_kafka.problem_words import command_words

FAILED = 1


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="mock-kafka topics --compact",
        description="Compact a topic now, as Kafka's log cleaner would with the active segment"
        " rolled, and print what was removed. Only a cluster of mock-kafka can do this.",
        epilog=EPILOG,
    )
    parser.add_argument("--compact", action="store_true", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--topic", required=True, metavar="T", help="the topic")
    parser.add_argument("--partition", type=int, metavar="N", help="only this partition")
    url = os.environ.get("MOCK_KAFKA_ADMIN_URL") or default_url()
    parser.add_argument("--admin-url", default=url, metavar="URL", help="default: %(default)s")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command; return the exit status."""
    options = build_parser().parse_args(arguments)
    control = Control(options.admin_url, os.environ.get("MOCK_KAFKA_ADMIN_TOKEN"))
    query = {} if options.partition is None else {"partition": options.partition}
    try:
        path = f"/v1/topics/{quote(options.topic, safe='')}/compact"
        for found in control.ask("POST", path, query=query):
            print(
                f"Partition: {found['partition']}\tRemovedRecords: {found['removed_records']}"
                f"\tFreedBytes: {found['freed_bytes']}\tCleanedUntil: {found['cleaned_until']}"
            )
    except ControlError as error:
        print(f"mock-kafka topics: {command_words(error.problem)}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"mock-kafka topics: {error}", file=sys.stderr)
        return FAILED
    finally:
        control.close()
    return 0
