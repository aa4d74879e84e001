"""`mock-kafka configs`: describe and alter configurations and client quotas."""

import argparse
import functools
from collections.abc import Sequence
from pathlib import Path

from client.admin import Admin
from client.tools import quota_configs, resource_configs, scram_configs
from client.tools.config_words import parse_added, parse_deleted
from client.tools.session import (
    admin_of,
    exit_status,
    read_properties,
    tool_parser,
)

DESCRIPTION = """\
Describe or alter configurations of topics, brokers, groups and client metrics,
quotas of users, clients and IP addresses, and SCRAM credentials of users;
options and output are those of kafka-configs.sh.
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
      --add-config 'SCRAM-SHA-256=[iterations=8192,password=secret]' --user alice
  mock-kafka configs --bootstrap-server localhost:9092 --alter \\
      --add-config 'cleanup.policy=[compact,delete],retention.ms=60000' \\
      --delete-config segment.bytes --entity-type topics --entity-name orders
  mock-kafka configs --bootstrap-server localhost:9092 --alter \\
      --add-config share.auto.offset.reset=earliest --group workers
  mock-kafka configs --bootstrap-server localhost:9092 --describe \\
      --entity-type client-metrics

quotas:
  users, clients, or both: producer_byte_rate, consumer_byte_rate,
  request_percentage, controller_mutation_rate
  users only: producer_ids_rate, and the credentials SCRAM-SHA-256, SCRAM-SHA-512
  ips: connection_creation_rate

Without a name --describe shows every entity of the type, and --alter changes the
default of users; for other types it needs a name or --entity-default. --user U
is short for --entity-type users --entity-name U, and --user-defaults for
--entity-default; likewise --client, --topic, --broker, --broker-logger, --group,
--client-metrics, --ip. Exit status: 0 for success, 1 with one line on standard
error, 2 for invalid arguments.
"""

ENTITY_TYPES = (*resource_configs.RESOURCE_TYPES, *quota_configs.ENTITY_TYPES)
_OPTIONS = {kind: kind if kind == "client-metrics" else kind[:-1] for kind in ENTITY_TYPES}
"""The options that are short for a type and a name."""
_WITH_DEFAULT = ("brokers", "users", "clients", "ips")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with the supported options of kafka-configs.sh."""
    parser = tool_parser("configs", DESCRIPTION, EPILOG)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--alter", action="store_true", help="change an entity")
    action.add_argument("--describe", action="store_true", help="print the values that were set")
    parser.add_argument(
        "--entity-type",
        action="append",
        default=[],
        choices=ENTITY_TYPES,
        help="can be repeated for users and clients; the first name is for the first type",
    )
    parser.add_argument(
        "--entity-name",
        dest="names",
        action="append",
        metavar="NAME",
        help="a topic, node id, group, client metrics resource, user, client id or ip address",
    )
    parser.add_argument(
        "--entity-default",
        dest="names",
        action="append_const",
        const=None,
        help="the default of all entities of the type, instead of a name",
    )
    for entity_type, option in _OPTIONS.items():
        parser.add_argument(
            f"--{option}", dest=f"{entity_type}_name", metavar="NAME", help=argparse.SUPPRESS
        )
        if entity_type in _WITH_DEFAULT:
            parser.add_argument(
                f"--{option}-defaults",
                dest=f"{entity_type}_default",
                action="store_true",
                help=argparse.SUPPRESS,
            )
    parser.add_argument(
        "--add-config",
        metavar="K=V[,K=V...]",
        help="with --alter: values to set; a value with commas is in brackets: k=[a,b]",
    )
    parser.add_argument(
        "--add-config-file",
        type=Path,
        metavar="FILE",
        help="with --alter, instead of --add-config: a properties file with values to set",
    )
    parser.add_argument(
        "--delete-config",
        action="append",
        default=[],
        metavar="K[,K...]",
        help="with --alter: values to remove",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="with --describe: also print default values; not of quotas",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit status."""
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    entity_types, entities = _entities(parser, parsed)
    if parsed.alter:
        if entity_types == ["users"] and not entities:
            # In KIP-936's example no name means the default entity. kafka-configs.sh refuses it.
            entities = {"users": None}
        if parsed.add_config is not None and parsed.add_config_file is not None:
            parser.error("--add-config and --add-config-file exclude each other")
        if not _changes(parsed):
            parser.error("--alter needs --add-config, --add-config-file or --delete-config")
        if len(entities) != len(entity_types):
            parser.error("--alter needs --entity-name or --entity-default with every --entity-type")
    elif _changes(parsed):
        parser.error("--add-config, --add-config-file and --delete-config need --alter")
    run = functools.partial(_connect_and_run, parsed, entity_types, entities)
    return exit_status(run, "Error while executing config command : ")


def _changes(parsed: argparse.Namespace) -> bool:
    """Return whether an option names values to change."""
    adds = parsed.add_config is not None or parsed.add_config_file is not None
    return adds or bool(parsed.delete_config)


def _entities(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace
) -> tuple[list[str], dict[str, str | None]]:
    """Return the entity types in their order, and the names of those with a name or default."""
    entity_types: list[str] = list(parsed.entity_type)
    names: list[str | None] = parsed.names or []
    if len(names) > len(entity_types):
        parser.error("more names than entity types")
    entities = dict(zip(entity_types, names, strict=False))
    for entity_type in ENTITY_TYPES:
        name = getattr(parsed, f"{entity_type}_name")
        if name is not None or getattr(parsed, f"{entity_type}_default", False):
            entity_types.append(entity_type)
            entities[entity_type] = name
    if not entity_types:
        parser.error("--entity-type is missing")
    if len(entity_types) != len(set(entity_types)):
        parser.error("an entity type occurs twice")
    if len(entity_types) > 1 and set(entity_types) != {"users", "clients"}:
        parser.error("only users and clients can be combined")
    without = [kind for kind, name in entities.items() if name is None if kind not in _WITH_DEFAULT]
    if without:
        remedy = "; set the default on brokers" if without == ["topics"] else ""
        parser.error(f"{without[0]} have no default entity{remedy}")
    if parsed.describe and entity_types == ["broker-loggers"] and not entities:
        parser.error("An entity name must be specified with --describe of broker-loggers")
    return entity_types, entities


def _connect_and_run(
    parsed: argparse.Namespace, entity_types: list[str], entities: dict[str, str | None]
) -> None:
    added = read_properties(parsed.add_config_file)
    if parsed.add_config is not None:
        added = parse_added(parsed.add_config)
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
    if entities.keys() == {"users"} and scram_configs.is_scram((*added, *deleted)):
        scram_configs.alter(admin, entities["users"], added, deleted)
    elif entity_type in quota_configs.ENTITY_TYPES:
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
        lines = quota_configs.describe(admin, entities, entity_types)
        if entity_types == ["users"] and None not in entities.values():
            lines += scram_configs.describe(admin, [name for name in entities.values() if name])
        return lines
    return resource_configs.describe(
        admin, entity_types[0], list(entities.values()), is_everything=is_everything
    )


def _done(entities: dict[str, str | None]) -> str:
    """Return Kafka's text of success; for a user together with a client it names the user."""
    entity_type, name = next(iter(entities.items()))
    if name is None:
        return f"Completed updating default config for {entity_type} in the cluster."
    return f"Completed updating config for {entity_type[:-1]} {name}."
