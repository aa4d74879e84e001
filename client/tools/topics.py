"""`mock-kafka topics`: create, list, describe, alter and delete topics."""

import argparse
import base64
import functools
import re
from collections.abc import Sequence

from client.admin import Admin, Outcomes
from client.errors import ApiError
from client.resources import ConfigEntry, ConfigResource, NewPartitions, NewTopic, TopicDescription
from client.tools.session import (
    ToolError,
    admin_of,
    exit_status,
    tool_parser,
)
from protocol.configs import ConfigSource, ResourceType
from protocol.errors import ErrorCode

DESCRIPTION = """\
Create, list, describe, alter or delete topics of any Kafka cluster; options and
output are those of kafka-topics.sh.
"""

EPILOG = """\
examples:
  mock-kafka topics --bootstrap-server localhost:9092 \\
      --create --topic orders --partitions 3 --config retention.ms=60000
  mock-kafka topics --bootstrap-server localhost:9092 --describe --topic 'ord.*'
  mock-kafka topics --bootstrap-server localhost:9092 \\
      --alter --topic orders --partitions 6

mock-kafka topics --compact --topic T compacts a topic of a mock-kafka cluster now;
add --help for its options.

A request that a quota refuses (KIP-599) is not retried; the error has
throttle_time_ms. Exit status: 0 for success, 1 with one line on standard error,
2 for invalid arguments.
"""

INTERNAL_TOPICS = {"__consumer_offsets", "__transaction_state", "__share_group_state"}
ERROR_PREFIX = "Error while executing topic command : "
COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_')"
    " could collide. To avoid issues it is best to use either, but not both."
)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with the supported options of kafka-topics.sh."""
    parser = tool_parser("topics", DESCRIPTION, EPILOG)
    action = parser.add_mutually_exclusive_group(required=True)
    for name, text in (
        ("create", "create a topic"),
        ("list", "print the names of all topics, or of those that --topic matches"),
        ("describe", "print partitions, leaders, replicas and changed configurations"),
        ("alter", "change the number of partitions"),
        ("delete", "delete topics"),
    ):
        action.add_argument(f"--{name}", dest="action", action="store_const", const=name, help=text)
    parser.add_argument(
        "--topic",
        metavar="T",
        help="the topic; without --create also a regular expression for complete names, or several"
        " with commas between them",
    )
    parser.add_argument(
        "--partitions",
        type=int,
        metavar="N",
        help="with --create (default: the broker's num.partitions) and --alter: the total number",
    )
    parser.add_argument(
        "--replication-factor",
        type=int,
        metavar="R",
        help="with --create (default: the broker's default.replication.factor)",
    )
    parser.add_argument(
        "--replica-assignment",
        type=_assignments,
        metavar="IDS",
        help="with --create, instead of both numbers: node ids, ':' between the replicas of a"
        " partition, ',' between partitions",
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="with --create: a configuration of the topic; can be repeated",
    )
    parser.add_argument(
        "--if-not-exists", action="store_true", help="with --create: ignore an existing topic"
    )
    parser.add_argument(
        "--if-exists",
        action="store_true",
        help="with --alter, --delete, --describe: ignore missing topics",
    )
    parser.add_argument(
        "--exclude-internal",
        action="store_true",
        help="with --list, --describe: omit Kafka's internal topics",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit status."""
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    if parsed.action in {"create", "alter", "delete"} and parsed.topic is None:
        parser.error(f"--{parsed.action} needs --topic")
    if parsed.action == "alter" and parsed.partitions is None:
        parser.error("--alter needs --partitions")
    if parsed.replica_assignment and (parsed.partitions or parsed.replication_factor):
        parser.error("--replica-assignment excludes --partitions and --replication-factor")
    return exit_status(functools.partial(_connect_and_run, parsed), ERROR_PREFIX)


def _connect_and_run(parsed: argparse.Namespace) -> None:
    with admin_of(parsed) as admin:
        _ACTIONS[parsed.action](admin, parsed)


def create(admin: Admin, parsed: argparse.Namespace) -> None:
    """Create one topic."""
    name = parsed.topic
    if "." in name or "_" in name:
        print(COLLISION_WARNING)
    for option in ("partitions", "replication_factor"):
        if getattr(parsed, option) is not None and getattr(parsed, option) < 1:
            raise ToolError(f"The {option.replace('_', ' ')} must be greater than 0")
    topic = NewTopic(
        name,
        partition_count=parsed.partitions or -1,
        replication_factor=parsed.replication_factor or -1,
        assignments=parsed.replica_assignment or (),
        configs=_configs(parsed.config),
    )
    error = admin.create_topics([topic], retry_on_quota_violation=False)[name]
    if error is None:
        print(f"Created topic {name}.")
    elif error.error_code != ErrorCode.TOPIC_ALREADY_EXISTS or not parsed.if_not_exists:
        raise error


def list_names(admin: Admin, parsed: argparse.Namespace) -> None:
    """Print a name per line."""
    for name in _matching(admin, parsed, is_missing_fine=True):
        print(name)


def describe(admin: Admin, parsed: argparse.Namespace) -> None:
    """Print a line for each topic and partition."""
    is_missing_fine = parsed.if_exists or parsed.topic is None
    names = _matching(admin, parsed, is_missing_fine=is_missing_fine)
    if not names:
        return
    resources = {name: ConfigResource(ResourceType.TOPIC, name) for name in names}
    configs = admin.describe_configs(resources.values())
    for name, topic in admin.describe_topics(names).items():
        if isinstance(topic, ApiError):
            raise topic
        entries = configs[resources[name]]
        if isinstance(entries, ApiError):
            raise entries
        for line in description_lines(topic, entries):
            print(line)


def alter(admin: Admin, parsed: argparse.Namespace) -> None:
    """Increase the number of partitions of topics."""
    names = _matching(admin, parsed, is_missing_fine=parsed.if_exists)
    counts = {name: NewPartitions(parsed.partitions) for name in names}
    _raise_first(admin.create_partitions(counts, retry_on_quota_violation=False))


def delete(admin: Admin, parsed: argparse.Namespace) -> None:
    """Delete topics."""
    names = _matching(admin, parsed, is_missing_fine=parsed.if_exists)
    _raise_first(admin.delete_topics(names, retry_on_quota_violation=False))


_ACTIONS = {
    "create": create,
    "list": list_names,
    "describe": describe,
    "alter": alter,
    "delete": delete,
}


def description_lines(topic: TopicDescription, entries: Sequence[ConfigEntry]) -> list[str]:
    """Return the lines that kafka-topics.sh prints, up to the ISR."""
    changed = ",".join(
        f"{entry.name}={entry.value}"
        for entry in entries
        if entry.source != ConfigSource.DEFAULT_CONFIG
    )
    replica_count = len(topic.partitions[0].replica_ids) if topic.partitions else 0
    fields = [
        f"Topic: {topic.name}",
        f"TopicId: {id_text(topic)}",
        f"PartitionCount: {len(topic.partitions)}",
        f"ReplicationFactor: {replica_count}",
        f"Configs: {changed}",
    ]
    lines = ["\t".join(fields)]
    for partition in topic.partitions:
        leader = "none" if partition.leader_id < 0 else str(partition.leader_id)
        fields = [
            f"\tTopic: {topic.name}",
            f"Partition: {partition.index}",
            f"Leader: {leader}",
            f"Replicas: {_joined(partition.replica_ids)}",
            f"Isr: {_joined(partition.isr_ids)}",
        ]
        lines.append("\t".join(fields))
    return lines


def id_text(topic: TopicDescription) -> str:
    """Return a topic id as URL-safe base64 without padding; "-" if it is unknown."""
    if topic.topic_id is None:
        return "-"
    return base64.urlsafe_b64encode(topic.topic_id.bytes).decode().rstrip("=")


def _matching(admin: Admin, parsed: argparse.Namespace, *, is_missing_fine: bool) -> list[str]:
    names = admin.list_topics()
    if parsed.exclude_internal:
        names = [name for name in names if name not in INTERNAL_TOPICS]
    if parsed.topic is None:
        return names
    try:
        pattern = re.compile(parsed.topic.replace(",", "|"))
    except re.error as error:
        raise ToolError(f"--topic {parsed.topic}: {error}") from error
    found = [name for name in names if pattern.fullmatch(name)]
    if not found and not is_missing_fine:
        raise ToolError(f"Topic '{parsed.topic}' does not exist as expected")
    return found


def _raise_first(outcomes: Outcomes) -> None:
    for error in outcomes.values():
        if error is not None:
            raise error


def _configs(words: Sequence[str]) -> dict[str, str]:
    configs: dict[str, str] = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not separator:
            raise ToolError(f"--config {word}: expected KEY=VALUE")
        configs[key.strip()] = value.strip()
    return configs


def _assignments(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(node_id) for node_id in part.split(":")) for part in text.split(","))


def _joined(node_ids: Sequence[int]) -> str:
    return ",".join(str(node_id) for node_id in node_ids)
