"""The rules and filters that the options of `mock-kafka acls` stand for.

Source: Kafka's `AclCommand`.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence

from client.resources import AccessControlEntry, ResourcePattern
from client.tools.session import ToolError
from protocol.acls import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)
from protocol.suggestions import did_you_mean

Rules = Mapping[ResourcePattern, frozenset[AccessControlEntry]]
"""Entries by the resources that they are about."""

CLUSTER = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
NO_RESOURCE = (
    "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or"
    " --delegation-token <Delegation Token ID>"
)
NO_PRINCIPAL = (
    "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
)
_OPERATIONS_OF_TOPICS = {
    "producer": (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE),
    "consumer": (AclOperation.READ, AclOperation.DESCRIBE),
}
_OF_TRANSACTIONAL_IDS = (AclOperation.WRITE, AclOperation.DESCRIBE)


class UsageError(Exception):
    """Options that do not belong together; the message is Kafka's."""


def operation_name(operation: AclOperation) -> str:
    """Return the name of an operation as an option has it, such as `DescribeConfigs`."""
    return "".join(word.capitalize() for word in operation.name.split("_"))


OPERATIONS = {
    operation_name(operation): operation
    for operation in AclOperation
    if operation not in {AclOperation.UNKNOWN, AclOperation.ANY}
}


def parse_operation(text: str) -> AclOperation:
    """Return the operation of a name, in any case.

    Raises:
        argparse.ArgumentTypeError: there is none.
    """
    letters = text.strip().upper()
    for name, operation in OPERATIONS.items():
        if name.upper() == letters:
            return operation
    hint = did_you_mean(text, OPERATIONS) or f"; there are: {', '.join(OPERATIONS)}"
    raise argparse.ArgumentTypeError(f"unknown operation {text}{hint}")


def rules_of(options: argparse.Namespace) -> Rules:
    """Return what the options add, or remove; to remove all rules of a resource there are none.

    Raises:
        UsageError: they name no resource, no principal to add, or an operation that the resource
            does not have.
        ToolError: a principal has no type.
    """
    rules: dict[ResourcePattern, frozenset[AccessControlEntry]] = {}
    patterns = patterns_of(options)
    if not patterns:
        raise UsageError(NO_RESOURCE)
    if not (options.producer or options.consumer):
        entries = _entries(options, options.operation or [AclOperation.ALL])
        rules = dict.fromkeys(patterns, entries)
    if options.producer:
        rules |= _producer_rules(options, patterns)
    if options.consumer:
        for pattern, entries in _consumer_rules(options, patterns).items():
            rules[pattern] = rules.get(pattern, frozenset()) | entries
    for pattern, entries in rules.items():
        _check_operations(pattern, entries)
    if options.add and not all(rules.values()):
        raise UsageError(NO_PRINCIPAL)
    return rules


def patterns_of(options: argparse.Namespace) -> list[ResourcePattern]:
    """Return the resources that the options name, sorted."""
    pattern_type = options.resource_pattern_type
    is_literal = pattern_type is PatternType.LITERAL
    found = {CLUSTER} if is_literal and (options.cluster or options.idempotent) else set()
    for resource_type, names in (
        (ResourceType.TOPIC, options.topic),
        (ResourceType.GROUP, options.group),
        (ResourceType.TRANSACTIONAL_ID, options.transactional_id),
        (ResourceType.DELEGATION_TOKEN, options.delegation_token),
        (ResourceType.USER, options.user_principal),
    ):
        found |= {ResourcePattern(resource_type, name.strip(), pattern_type) for name in names}
    return sorted(found)


def principals_of(texts: Iterable[str]) -> list[str]:
    """Return principals, sorted.

    Raises:
        ToolError: one has no type.
    """
    names = {text.strip() for text in texts}
    for name in sorted(names):
        if ":" not in name:
            raise ToolError(
                f"expected a string in format principalType:principalName but got {name}"
            )
    return sorted(names)


def _producer_rules(options: argparse.Namespace, patterns: Sequence[ResourcePattern]) -> Rules:
    on_topics = _entries(options, _OPERATIONS_OF_TOPICS["producer"])
    on_transactional_ids = _entries(options, _OF_TRANSACTIONAL_IDS)
    rules = dict.fromkeys(_of_type(patterns, ResourceType.TOPIC), on_topics)
    rules |= dict.fromkeys(_of_type(patterns, ResourceType.TRANSACTIONAL_ID), on_transactional_ids)
    if options.idempotent:
        rules[CLUSTER] = _entries(options, [AclOperation.IDEMPOTENT_WRITE])
    return rules


def _consumer_rules(options: argparse.Namespace, patterns: Sequence[ResourcePattern]) -> Rules:
    on_topics = _entries(options, _OPERATIONS_OF_TOPICS["consumer"])
    on_groups = _entries(options, [AclOperation.READ])
    rules = dict.fromkeys(_of_type(patterns, ResourceType.TOPIC), on_topics)
    return rules | dict.fromkeys(_of_type(patterns, ResourceType.GROUP), on_groups)


def _of_type(
    patterns: Sequence[ResourcePattern], resource_type: ResourceType
) -> list[ResourcePattern]:
    return [pattern for pattern in patterns if pattern.resource_type is resource_type]


def _entries(
    options: argparse.Namespace, operations: Iterable[AclOperation]
) -> frozenset[AccessControlEntry]:
    operations = list(operations)
    return frozenset(
        AccessControlEntry(principal, host, operation, permission)
        for permission, principals, hosts in (
            (PermissionType.ALLOW, options.allow_principal, options.allow_host),
            (PermissionType.DENY, options.deny_principal, options.deny_host),
        )
        for principal in principals_of(principals)
        for host in {host.strip() for host in hosts} or {WILDCARD}
        for operation in operations
    )


def _check_operations(pattern: ResourcePattern, entries: Iterable[AccessControlEntry]) -> None:
    supported = {AclOperation.ALL, *SUPPORTED_OPERATIONS[pattern.resource_type]}
    if any(entry.operation not in supported for entry in entries):
        names = ", ".join(operation.name for operation in sorted(supported))
        kind = pattern.resource_type.name
        raise UsageError(f"ResourceType {kind} only supports operations [{names}]")
