"""`mock-kafka groups`: list, describe and delete groups, and reset or delete their offsets."""

import argparse
import functools
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from client.admin import Admin
from client.errors import ApiError
from client.group_admin import EARLIEST, LATEST
from client.resources import GroupDescription, PartitionKey, PartitionOffset
from client.tools import (
    group_tables,
    internal_topics,
    offset_reset,
    streams_tables,
    topology_text,
)
from client.tools.session import ToolError, admin_of, exit_status, tool_parser
from protocol.errors import ErrorCode
from protocol.regular_expressions import regex_problem

DESCRIPTION = """\
List, describe or delete classic, consumer, share and streams groups of any Kafka
cluster, and reset or delete their offsets; options and output are those of
kafka-consumer-groups.sh, kafka-share-groups.sh or kafka-streams-groups.sh.
"""

EPILOG = """\
examples:
  mock-kafka groups --bootstrap-server localhost:9092 --list --type --state
  mock-kafka groups --bootstrap-server localhost:9092 --describe --group billing
  mock-kafka groups --bootstrap-server localhost:9092 \\
      --describe --group billing --members --verbose
  mock-kafka groups --bootstrap-server localhost:9092 \\
      --reset-offsets --group billing --topic orders --to-earliest --execute
  mock-kafka groups --bootstrap-server localhost:9092 \\
      --delete-offsets --group billing --topic orders:0,1

--reset-offsets shows the new offsets and changes nothing without --execute. Offsets
of a group can be reset and the group deleted while it has no members. Exit status: 0
for success, 1 with one line on standard error, 2 for invalid arguments.
"""

ERROR_PREFIX = "Error while executing groups command : "
_STATES = {
    state.lower(): state
    for state in (
        *("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"),
        *("Assigning", "Reconciling", "NotReady"),
    )
}
_TYPES = ("classic", "consumer", "share", "streams")
_NOUNS = {"share": "Share", "streams": "Streams"}
"""What Kafka's tools call groups of a type; others are consumer groups."""
_REBALANCING = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})
_INACTIVE = frozenset({"Empty", "Dead"})


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with the supported options of kafka-consumer-groups.sh."""
    parser = tool_parser("groups", DESCRIPTION, EPILOG, needs_servers=False)
    action = parser.add_mutually_exclusive_group(required=True)
    for name, text in (
        ("list", "print the ids of all groups"),
        ("describe", "print offsets with lag, members or the state of groups"),
        ("reset-offsets", "move the offsets of groups without members"),
        ("delete", "delete groups without members"),
        ("delete-offsets", "delete offsets of topics that no member subscribes to"),
    ):
        action.add_argument(f"--{name}", dest="action", action="store_const", const=name, help=text)
    action.add_argument(
        "--validate-regex",
        metavar="REGEX",
        help="print whether members may subscribe by this expression (RE2); needs no cluster",
    )
    parser.add_argument(
        "--timeout",
        type=_milliseconds,
        metavar="MS",
        help="how long one operation may take with all its retries; default 60000",
    )
    parser.add_argument("--group", action="append", default=[], metavar="G", help="can be repeated")
    parser.add_argument("--all-groups", action="store_true", help="instead of --group")
    parser.add_argument(
        "--state",
        nargs="?",
        const="",
        metavar="STATES",
        help="with --list: print states, or only groups in these states, with commas between them;"
        " with --describe: print the state",
    )
    parser.add_argument(
        "--type",
        nargs="?",
        const="",
        metavar="TYPES",
        help=f"with --list: print types, or only groups of these types ({', '.join(_TYPES)})",
    )
    for name, text in (
        ("topology", "print the topologies of streams groups"),
        ("offsets", "print committed offsets with lag, or start offsets; the default"),
        ("members", "print members with their number of partitions"),
        ("verbose", "also print epochs and assignments"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=f"with --describe: {text}")
    parser.add_argument(
        *("--topic", "--input-topic"),
        action="append",
        default=[],
        metavar="T[:0,1]",
        help="with --reset-offsets, --delete-offsets: a topic, or some of its partitions; can be"
        " repeated",
    )
    parser.add_argument(
        *("--all-topics", "--all-input-topics"),
        action="store_true",
        help="with --reset-offsets: all with an offset, of a streams group its source topics",
    )
    _add_reset_options(parser)
    internal_topics.add_options(parser)
    return parser


def _milliseconds(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: expected a number of milliseconds")
    return int(text)


def _add_reset_options(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    for name, text in (
        ("earliest", "the beginning of the log"),
        ("latest", "the end of the log"),
        ("current", "the committed offset, or the end of the log"),
    ):
        where.add_argument(f"--to-{name}", action="store_true", help=f"to {text}")
    where.add_argument("--to-offset", type=int, metavar="N", help="to an offset")
    where.add_argument("--shift-by", type=int, metavar="N", help="by N, which may be negative")
    where.add_argument(
        "--to-datetime",
        metavar="YYYY-MM-DDTHH:MM:SS.sss",
        help="to the first record of a time, in UTC or with Z or +HH:MM",
    )
    where.add_argument(
        "--by-duration", metavar="PnDTnHnMnS", help="to the first record since a time ago"
    )
    where.add_argument(
        "--from-file", type=Path, metavar="FILE", help="to the offsets in a file of --export"
    )
    parser.add_argument("--execute", action="store_true", help="with --reset-offsets: do it")
    parser.add_argument(
        "--dry-run", action="store_true", help="with --reset-offsets: only print; the default"
    )
    parser.add_argument(
        "--export", action="store_true", help="with --reset-offsets: print CSV lines"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit status."""
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    if parsed.validate_regex is not None:
        validate_regex(parsed.validate_regex)
        return 0
    _check(parser, parsed)
    return exit_status(functools.partial(_connect_and_run, parsed), ERROR_PREFIX)


def _check(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    if parsed.bootstrap_server is None:
        parser.error("the following arguments are required: --bootstrap-server")
    if parsed.action != "list" and not parsed.group and not parsed.all_groups:
        parser.error(f"--{parsed.action} needs --group or --all-groups")
    if parsed.group and parsed.all_groups:
        parser.error("--all-groups excludes --group")
    if parsed.action == "delete-offsets" and (len(parsed.group) != 1 or not parsed.topic):
        parser.error("--delete-offsets needs one --group, and --topic")
    if parsed.action == "describe":
        chosen = (parsed.offsets, parsed.members, parsed.topology, parsed.state is not None)
        if sum(chosen) > 1:
            options = "--offsets, --members, --topology and --state"
            parser.error(f"--describe takes at most one of {options}")
    if parsed.action == "reset-offsets":
        if bool(parsed.topic) is parsed.all_topics and not parsed.from_file:
            parser.error("--reset-offsets needs --topic or --all-topics")
        if all(getattr(parsed, name) in {None, False} for name in offset_reset.SCENARIOS):
            options = ", ".join(f"--{name.replace('_', '-')}" for name in offset_reset.SCENARIOS)
            parser.error(f"--reset-offsets needs one of {options}")
        if parsed.execute and parsed.dry_run:
            parser.error("--dry-run excludes --execute")
    problem = internal_topics.option_problem(parsed)
    if problem is not None:
        parser.error(problem)


def _connect_and_run(parsed: argparse.Namespace) -> None:
    with admin_of(parsed, parsed.timeout) as admin:
        _ACTIONS[parsed.action](admin, parsed)


def validate_regex(regex: str) -> None:
    """Print whether an expression is valid, in the words of Kafka's tool."""
    problem = regex_problem(regex)
    outcome = "valid" if problem is None else f"invalid: {problem}"
    print(f"The regular expression `{regex}` is {outcome}.")


def list_groups(admin: Admin, parsed: argparse.Namespace) -> None:
    """Print a group per line, with types and states if they are asked for."""
    states = _chosen("--state", parsed.state, _STATES)
    types = _chosen("--type", parsed.type, {name: name for name in _TYPES})
    listings = admin.list_groups(states, types)
    if parsed.state is None and parsed.type is None:
        _print(listing.group_id for listing in listings)
        return
    _print(
        group_tables.listing_lines(
            listings, has_types=parsed.type is not None, has_states=parsed.state is not None
        )
    )


def _chosen(option: str, text: str | None, known: Mapping[str, str]) -> list[str]:
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    for word in words:
        if word.lower() not in known:
            raise ToolError(f"{option} {word}: valid are {', '.join(known.values())}")
    return [known[word.lower()] for word in words]


def describe(admin: Admin, parsed: argparse.Namespace) -> None:
    """Print offsets with lag, members, topologies or states."""
    groups = admin.describe_groups(_group_ids(admin, parsed), with_topology=parsed.topology)
    for _group_id, group in sorted(groups.items()):
        if isinstance(group, ApiError):
            raise group
        if parsed.topology:
            print(topology_text.topology_text(group))
            continue
        _warn_about_state(group)
        if group.group_type == "streams":
            _print(_streams_lines(admin, group, parsed))
        else:
            _print_table(_description_lines(admin, group, parsed))


def _warn_about_state(group: GroupDescription) -> None:
    noun = _NOUNS.get(group.group_type, "Consumer")
    if group.state == "Empty":
        print(f"\n{noun} group '{group.group_id}' has no active members.", file=sys.stderr)
    elif group.state in _REBALANCING:
        print(f"\nWarning: {noun} group '{group.group_id}' is rebalancing.", file=sys.stderr)


def _description_lines(
    admin: Admin, group: GroupDescription, parsed: argparse.Namespace
) -> list[str]:
    if parsed.members:
        is_shown = group.group_type != "share" or group.members
        return group_tables.member_lines(group, is_verbose=parsed.verbose) if is_shown else []
    if parsed.state is not None:
        return group_tables.state_lines(group, is_verbose=parsed.verbose)
    if group.group_type == "share":
        return group_tables.share_offset_lines(
            group, admin.share_group_offsets(group.group_id), is_verbose=parsed.verbose
        )
    committed = admin.group_offsets(group.group_id)
    assigned = {key for member in group.members for key in member.assigned}
    ends = _known_offsets(admin, {*committed, *assigned}, LATEST)
    return group_tables.offset_lines(group, committed, ends, is_verbose=parsed.verbose)


def _streams_lines(admin: Admin, group: GroupDescription, parsed: argparse.Namespace) -> list[str]:
    if parsed.members:
        return streams_tables.streams_member_lines(group, is_verbose=parsed.verbose)
    if parsed.state is not None:
        return streams_tables.streams_state_lines(group, is_verbose=parsed.verbose)
    partitions = streams_tables.read_partitions(group)
    return streams_tables.streams_offset_lines(
        group,
        admin.group_offsets(group.group_id),
        _known_offsets(admin, partitions, EARLIEST),
        _known_offsets(admin, partitions, LATEST),
        is_verbose=parsed.verbose,
    )


def _known_offsets(
    admin: Admin, partitions: Iterable[PartitionKey], timestamp_ms: int
) -> dict[PartitionKey, int | None]:
    found = admin.list_offsets(partitions, timestamp_ms)
    return {key: None if isinstance(end, ApiError) else end for key, end in found.items()}


def reset_offsets(admin: Admin, parsed: argparse.Namespace) -> None:
    """Print new offsets, and commit them with `--execute`."""
    resets: dict[str, dict[PartitionKey, int]] = {}
    for group_id, group in admin.describe_groups(_group_ids(admin, parsed)).items():
        if isinstance(group, ApiError) and group.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise group
        if isinstance(group, GroupDescription) and group.state not in _INACTIVE:
            raise ToolError(
                f"Assignments can only be reset if the group '{group_id}' is inactive, but the"
                f" current state is {group.state}."
            )
        resets[group_id] = offset_reset.new_offsets(admin, group_id, group, parsed)
        if parsed.execute:
            _commit(admin, group_id, group, resets[group_id])
    failure = internal_topics.delete_after_reset(
        admin, internal_topics.topics_to_delete(admin, resets, parsed)
    )
    _print_resets(parsed, resets)
    if failure is not None:
        raise failure


def _print_resets(
    parsed: argparse.Namespace, resets: Mapping[str, Mapping[PartitionKey, int]]
) -> None:
    if parsed.export:
        has_group = len(parsed.group) != 1
        for group_id, offsets in resets.items():
            for (topic, index), offset in sorted(offsets.items()):
                prefix = f"{group_id}," if has_group else ""
                print(f"{prefix}{topic},{index},{offset}")
        return
    _print_table(group_tables.reset_lines(resets))


def _commit(
    admin: Admin,
    group_id: str,
    group: GroupDescription | ApiError,
    new_offsets: Mapping[PartitionKey, int],
) -> None:
    offsets = {key: PartitionOffset(offset) for key, offset in new_offsets.items()}
    is_share = isinstance(group, GroupDescription) and group.group_type == "share"
    alter = admin.alter_share_group_offsets if is_share else admin.alter_group_offsets
    for (topic, index), error in alter(group_id, offsets).items() if offsets else ():
        if error is not None:
            raise ApiError(error.error_code, f"partition {topic}-{index}: {error}")


def delete(admin: Admin, parsed: argparse.Namespace) -> None:
    """Delete groups."""
    nouns = {
        listing.group_id: _NOUNS.get(listing.group_type, "Consumer").lower()
        for listing in admin.list_groups()
    }
    group_ids = _group_ids(admin, parsed)
    topics = internal_topics.topics_to_delete(admin, group_ids, parsed)
    outcomes = admin.delete_groups(group_ids)
    deleted: dict[str, list[str]] = {}
    for group_id, error in outcomes.items():
        if error is None:
            deleted.setdefault(nouns.get(group_id, "consumer"), []).append(f"'{group_id}'")
    for noun, names in deleted.items():
        print(f"Deletion of requested {noun} groups ({', '.join(names)}) was successful.")
    internal_topics.delete_after_groups(
        admin, {group_id: names for group_id, names in topics.items() if outcomes[group_id] is None}
    )
    for group_id, error in outcomes.items():
        if error is not None:
            raise ApiError(
                error.error_code, f"Group '{group_id}' could not be deleted due to: {error}"
            )


def delete_offsets(admin: Admin, parsed: argparse.Namespace) -> None:
    """Delete committed offsets, or those of topics of a share group."""
    (group_id,) = parsed.group
    group = admin.describe_groups([group_id])[group_id]
    outcomes: Mapping[PartitionKey, ApiError | None]
    if isinstance(group, GroupDescription) and group.group_type == "share":
        errors = admin.delete_share_group_offsets(group_id, parsed.topic)
        outcomes = {(topic, -1): error for topic, error in errors.items()}
    else:
        partitions = offset_reset.partitions_of_topics(admin, parsed.topic)
        outcomes = admin.delete_group_offsets(group_id, partitions)
    first_error = next((error for error in outcomes.values() if error is not None), None)
    if first_error is None:
        print(f"Request succeeded for deleting offsets from group {group_id}.")
    statuses = {
        key: "Successful" if error is None else f"Error: {error}" for key, error in outcomes.items()
    }
    _print_table(group_tables.status_lines(statuses))
    if first_error is not None:
        raise first_error


_ACTIONS = {
    "list": list_groups,
    "describe": describe,
    "reset-offsets": reset_offsets,
    "delete": delete,
    "delete-offsets": delete_offsets,
}


def _group_ids(admin: Admin, parsed: argparse.Namespace) -> list[str]:
    if parsed.all_groups:
        return [listing.group_id for listing in admin.list_groups()]
    return list(dict.fromkeys(parsed.group))


def _print_table(lines: Sequence[str]) -> None:
    """Print lines after an empty one, as Kafka's tool does; nothing for no lines."""
    if lines:
        _print(("", *lines))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)
