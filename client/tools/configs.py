"""`mock-kafka configs`: configurations and client quotas, as kafka-configs.sh does."""

import argparse
import functools
from collections.abc import Sequence

from client.admin import Admin
from client.tools import quota_configs, resource_configs
from client.tools.config_words import parse_added, parse_deleted
from client.tools.session import (
    admin_of,
    exit_status,
    tool_parser,
)

DESCRIPTION = """\
Show or change configurations of topics and brokers, and quotas of users, clients
and ips, of any Kafka cluster; options and output are those of kafka-configs.sh.
"""

EPILOG = """\
examples:
  mock-kafka configs --bootstrap-server localhost:9092 --alter \\
      --add-config 'controller_mutation_rate=10' \\
      --entity-type users --entity-name user1 \\
      --entity-type clients --entity-name clientA
  mock-kafka configs --bootstrap-server localhost:9092 --alter \\
      --add-config 'producer_ids_rate=50' --entity-type users --entity-name user1
  mock-kafka configs --bootstrap-server localhost:9092 --alter \\
      --add-config 'producer_ids_rate=200' --entity-type users
  mock-kafka configs --bootstrap-server localhost:9092 --alter \\
      --add-config 'producer_byte_rate=1024' --entity-type clients --entity-default
  mock-kafka configs --bootstrap-server localhost:9092 --describe --entity-type users
  mock-kafka configs --bootstrap-server localhost:9092 --alter \\
      --add-config 'cleanup.policy=[compact,delete],retention.ms=60000' \\
      --delete-config segment.bytes --entity-type topics --entity-name orders

quotas:
  users and clients, alone or together: producer_byte_rate, consumer_byte_rate,
  request_percentage, controller_mutation_rate
  users alone: producer_ids_rate
  ips: connection_creation_rate

Without a name --describe shows every entity of the type, and --alter changes the
default of users; for other types it needs a name or --entity-default. --user U
stands for --entity-type users --entity-name U, and --user-defaults for
--entity-default; so do --client, --topic, --broker, --ip. Exit status: 0 when
done, 1 with one line on standard error when not, 2 for wrong arguments.
"""

ENTITY_TYPES = (*resource_configs.RESOURCE_TYPES, *quota_configs.ENTITY_TYPES)


def build_parser() -> argparse.ArgumentParser:
    """The options of kafka-configs.sh that this tool knows."""
    parser = tool_parser("configs", DESCRIPTION, EPILOG)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--alter", action="store_true", help="change an entity")
    action.add_argument("--describe", action="store_true", help="print what was set")
    parser.add_argument(
        "--entity-type",
        action="append",
        default=[],
        choices=ENTITY_TYPES,
        help="may be given twice, for users and clients; names belong to types in order",
    )
    parser.add_argument(
        "--entity-name",
        dest="names",
        action="append",
        metavar="NAME",
        help="a topic, node id, user, client id or ip address",
    )
    parser.add_argument(
        "--entity-default",
        dest="names",
        action="append_const",
        const=None,
        help="the default of all entities of the type, in place of a name",
    )
    for entity_type in ENTITY_TYPES:
        noun = entity_type[:-1]
        parser.add_argument(
            f"--{noun}", dest=f"{noun}_name", metavar="NAME", help=argparse.SUPPRESS
        )
        if entity_type != "topics":
            parser.add_argument(f"--{noun}-defaults", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--add-config",
        metavar="K=V[,K=V...]",
        help="with --alter: values to set; brackets hold a value with commas: k=[a,b]",
    )
    parser.add_argument(
        "--delete-config",
        action="append",
        default=[],
        metavar="K[,K...]",
        help="with --alter: values to take away",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="with --describe of topics and brokers: unchanged values as well",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit status."""
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    entity_types, entities = _entities(parser, parsed)
    if parsed.alter:
        if entity_types == ["users"] and not entities:
            # KIP-936's own example: no name is the default entity. kafka-configs.sh refuses it.
            entities = {"users": None}
        if parsed.add_config is None and not parsed.delete_config:
            parser.error("--alter needs --add-config or --delete-config")
        if len(entities) != len(entity_types):
            parser.error("--alter needs --entity-name or --entity-default with every --entity-type")
    elif parsed.add_config is not None or parsed.delete_config:
        parser.error("--add-config and --delete-config go with --alter")
    run = functools.partial(_connect_and_run, parsed, entity_types, entities)
    return exit_status(run, "Error while executing config command : ")


def _entities(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace
) -> tuple[list[str], dict[str, str | None]]:
    """Entity types in the order given, and the name or default (None) of those that have one."""
    entity_types: list[str] = list(parsed.entity_type)
    names: list[str | None] = parsed.names or []
    if len(names) > len(entity_types):
        parser.error("more names than entity types")
    entities = dict(zip(entity_types, names, strict=False))
    for entity_type in ENTITY_TYPES:
        noun = entity_type[:-1]
        name = getattr(parsed, f"{noun}_name")
        if name is not None or getattr(parsed, f"{noun}_defaults", False):
            entity_types.append(entity_type)
            entities[entity_type] = name
    if not entity_types:
        parser.error("--entity-type is needed")
    if len(entity_types) != len(set(entity_types)):
        parser.error("an entity type is given twice")
    if len(entity_types) > 1 and set(entity_types) != {"users", "clients"}:
        parser.error("only users and clients go together")
    if entities.get("topics", "") is None:
        parser.error("topics have no default entity; set the default on brokers")
    return entity_types, entities


def _connect_and_run(
    parsed: argparse.Namespace, entity_types: list[str], entities: dict[str, str | None]
) -> None:
    added = {} if parsed.add_config is None else parse_added(parsed.add_config)
    deleted = parse_deleted(parsed.delete_config)
    with admin_of(parsed) as admin:
        if parsed.alter:
            _alter(admin, entities, added, deleted)
            print(_done(entities))
        else:
            for line in _describe(admin, entity_types, entities, is_everything=parsed.all):
                print(line)


def _alter(
    admin: Admin, entities: dict[str, str | None], added: dict[str, str], deleted: list[str]
) -> None:
    entity_type = next(iter(entities))
    if entity_type in quota_configs.ENTITY_TYPES:
        quota_configs.alter(admin, entities, added, deleted)
    else:
        resource_configs.alter(admin, entity_type, entities[entity_type], added, deleted)


def _describe(
    admin: Admin,
    entity_types: list[str],
    entities: dict[str, str | None],
    *,
    is_everything: bool,
) -> list[str]:
    if entity_types[0] in quota_configs.ENTITY_TYPES:
        return quota_configs.describe(admin, entities, entity_types)
    return resource_configs.describe(
        admin, entity_types[0], list(entities.values()), is_everything=is_everything
    )


def _done(entities: dict[str, str | None]) -> str:
    """The sentence that scripts look for; of a user's client it names the user."""
    entity_type, name = next(iter(entities.items()))
    if name is None:
        return f"Completed updating default config for {entity_type} in the cluster."
    return f"Completed updating config for {entity_type[:-1]} {name}."
