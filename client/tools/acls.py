"""`mock-kafka acls`: add, remove and list the rules of access control lists."""

import argparse
from collections.abc import Iterable, Sequence

from client.admin import Admin
from client.errors import ApiError
from client.resources import AccessControlEntry, AclBinding, ResourcePattern
from client.tools.acl_rules import (
    OPERATIONS,
    Rules,
    UsageError,
    parse_operation,
    patterns_of,
    principals_of,
    rules_of,
)
from client.tools.session import admin_of, exit_status, tool_parser
from protocol.acls import PatternType

DESCRIPTION = """\
Add, remove or list the rules of access control lists of any Kafka cluster with an
authorizer; options and output are those of kafka-acls.sh.
"""

EPILOG = f"""\
examples:
  mock-kafka acls --bootstrap-server localhost:9092 --add \\
      --allow-principal User:alice --operation Read --topic orders
  mock-kafka acls --bootstrap-server localhost:9092 --add --producer \\
      --allow-principal User:alice --topic orders- --resource-pattern-type prefixed
  mock-kafka acls --bootstrap-server localhost:9092 --add --consumer \\
      --allow-principal User:bob --topic orders --group billing
  mock-kafka acls --bootstrap-server localhost:9092 --list --topic orders \\
      --resource-pattern-type match
  mock-kafka acls --bootstrap-server localhost:9092 --remove --force \\
      --allow-principal User:alice --operation Read --topic orders

operations:
  {", ".join(list(OPERATIONS)[:7])},
  {", ".join(list(OPERATIONS)[7:11])},
  {", ".join(list(OPERATIONS)[11:])}

Options for principals, hosts, operations and resources can be repeated. Without
--force --remove asks before it removes anything. Exit status: 0 for success, 1 with
one line on standard error, 2 for invalid arguments.
"""

_RESOURCES = {
    "topic": "a topic; * is any topic",
    "group": "a group; * is any group",
    "transactional-id": "a transactional id; * is any",
    "delegation-token": "the id of a delegation token; * is any",
    "user-principal": "a user as a resource, whose delegation tokens others create or describe",
}
_NOT_WITH_LIST = (
    "producer",
    "consumer",
    "allow_host",
    "allow_principal",
    "deny_host",
    "deny_principal",
)
_NOT_WITH_ROLES = ("operation", "deny_principal", "deny_host")
_PATTERN_TYPES = [kind.name.lower() for kind in PatternType if kind is not PatternType.UNKNOWN]


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with the options of kafka-acls.sh."""
    parser = tool_parser("acls", DESCRIPTION, EPILOG)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--add", action="store_true", help="add rules")
    action.add_argument("--remove", action="store_true", help="remove rules")
    action.add_argument("--list", action="store_true", help="print rules, of resources or of all")
    for name, text in _RESOURCES.items():
        parser.add_argument(f"--{name}", action="append", default=[], metavar="NAME", help=text)
    parser.add_argument("--cluster", action="store_true", help="the cluster")
    parser.add_argument(
        "--resource-pattern-type",
        type=str.lower,
        choices=_PATTERN_TYPES,
        default="literal",
        help="with --add: literal (default) or prefixed. Otherwise also any, or match, for rules"
        " that apply to a resource of this name",
    )
    parser.add_argument(
        "--operation",
        action="append",
        default=[],
        type=parse_operation,
        metavar="OPERATION",
        help="what is allowed or denied; by default All",
    )
    for permission, verb in (("allow", "may"), ("deny", "may not")):
        parser.add_argument(
            f"--{permission}-principal",
            action="append",
            default=[],
            metavar="TYPE:NAME",
            help=f"who {verb}, such as User:alice; User:* is any user",
        )
        parser.add_argument(
            f"--{permission}-host",
            action="append",
            default=[],
            metavar="HOST",
            help=f"from which address or range they {verb}; by default *, from any",
        )
    parser.add_argument(
        "--principal",
        action="append",
        default=[],
        metavar="TYPE:NAME",
        help="with --list: only rules of this principal",
    )
    parser.add_argument(
        "--producer",
        action="store_true",
        help="Write, Describe and Create on --topic, Write and Describe on --transactional-id",
    )
    parser.add_argument(
        "--consumer", action="store_true", help="Read and Describe on --topic, Read on --group"
    )
    parser.add_argument(
        "--idempotent", action="store_true", help="with --producer: IdempotentWrite on the cluster"
    )
    parser.add_argument("--force", action="store_true", help="do not ask before --remove")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit status."""
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    parsed.resource_pattern_type = PatternType[parsed.resource_pattern_type.upper()]

    def run() -> None:
        try:
            _check(parsed)
            rules = {} if parsed.list else rules_of(parsed)
        except UsageError as error:
            parser.error(str(error))
        with admin_of(parsed) as admin:
            action = _list if parsed.list else _add if parsed.add else _remove
            action(admin, parsed, rules)

    return exit_status(run, "Error while executing ACL command: ")


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together, as Kafka does."""
    for name, excluded in (
        ("list", _NOT_WITH_LIST),
        ("producer", _NOT_WITH_ROLES),
        ("consumer", _NOT_WITH_ROLES),
    ):
        other = next((one for one in excluded if getattr(options, one)), None)
        if getattr(options, name) and other is not None:
            used, unusable = f"[{name}]", f"[{other.replace('_', '-')}]"
            raise UsageError(f'Option "{used}" can\'t be used with option "{unusable}"')
    if options.principal and not options.list:
        raise UsageError("The --principal option is only available if --list is set")
    if options.producer and not options.topic:
        raise UsageError("With --producer you must specify a --topic")
    if options.idempotent and not options.producer:
        raise UsageError("The --idempotent option is only available if --producer is set")
    is_for_others = options.cluster or options.transactional_id
    if options.consumer and (
        not (options.topic and options.group) or (is_for_others and not options.producer)
    ):
        raise UsageError(
            "With --consumer you must specify a --topic and a --group and no --cluster or"
            " --transactional-id option should be specified."
        )
    pattern_type = options.resource_pattern_type
    if options.add and pattern_type in {PatternType.ANY, PatternType.MATCH}:
        raise UsageError(
            f"A '--resource-pattern-type' value of '{pattern_type.name}' is not valid when adding"
            " acls."
        )


def _add(admin: Admin, _options: argparse.Namespace, rules: Rules) -> None:
    for pattern, entries in rules.items():
        present = set(admin.describe_acls(AclBinding(pattern)))
        acls = [AclBinding(pattern, entry) for entry in sorted(entries)]
        for acl in acls:
            if acl in present:
                text = f"(pattern={_pattern_text(pattern)}, entry={_entry_text(acl.entry)})"
                print(f"Acl {text} already exists.")
        new = [acl for acl in acls if acl not in present]
        if not new:
            continue
        print(f"Adding ACLs for resource `{_pattern_text(pattern)}`: ")
        print(f" {_entry_lines(acl.entry for acl in new)}\n")
        _raise_first(admin.create_acls(new))


def _remove(admin: Admin, options: argparse.Namespace, rules: Rules) -> None:
    for pattern, entries in rules.items():
        text = _pattern_text(pattern)
        question = (
            f"Are you sure you want to remove ACLs: \n {_entry_lines(sorted(entries))}\n"
            f" from resource filter `{text}`? (y/n)"
            if entries
            else f"Are you sure you want to delete all ACLs for resource filter `{text}`? (y/n)"
        )
        if options.force or _is_confirmed(question):
            filters = [AclBinding(pattern, entry) for entry in sorted(entries)]
            _raise_first(admin.delete_acls(filters or [AclBinding(pattern)]))


def _list(admin: Admin, options: argparse.Namespace, _rules: Rules) -> None:
    principals = principals_of(options.principal)
    filters = [AclBinding(pattern) for pattern in patterns_of(options)] or [AclBinding()]
    found: dict[ResourcePattern, set[AccessControlEntry]] = {}
    for acl_filter in filters:
        for acl in admin.describe_acls(acl_filter):
            found.setdefault(acl.pattern, set()).add(acl.entry)
    if not principals:
        _print_acls(found, None)
    for principal in principals:
        print(f"ACLs for principal `{principal}`")
        _print_acls(found, principal)


def _print_acls(
    found: dict[ResourcePattern, set[AccessControlEntry]], principal: str | None
) -> None:
    for pattern, entries in sorted(found.items()):
        shown = sorted(entry for entry in entries if principal in {None, entry.principal})
        if shown:
            print(f"Current ACLs for resource `{_pattern_text(pattern)}`:")
            print(f"{_entry_lines(shown)}\n")


def _is_confirmed(question: str) -> bool:
    print(question)
    try:
        return input().lower() == "y"
    except EOFError:
        return False


def _raise_first(outcomes: Iterable[object]) -> None:
    for outcome in outcomes:
        if isinstance(outcome, ApiError):
            raise outcome


def _pattern_text(pattern: ResourcePattern) -> str:
    """Return a resource as Kafka's tool prints it."""
    kind, name, pattern_type = pattern
    return (
        f"ResourcePattern(resourceType={kind.name}, name={name}, patternType={pattern_type.name})"
    )


def _entry_lines(entries: Iterable[AccessControlEntry]) -> str:
    return "\n".join(f"\t{_entry_text(entry)}" for entry in entries)


def _entry_text(entry: AccessControlEntry) -> str:
    """Return who may do what as Kafka's tool prints it."""
    principal, host, operation, permission = entry
    return (
        f"(principal={principal}, host={host}, operation={operation.name},"
        f" permissionType={permission.name})"
    )
