"""Rules and denials in words: for the journal, the admin port and snapshots."""

from typing import Any

from broker.authorization.acl import Acl
from broker.authorization.checks import Denial
from protocol.acls import WILDCARD

USER = "User:"
"""What the principal of a user begins with. There are no principals of other types here."""


def principal_of(user: str) -> str:
    """Return the principal of a user; `User:` in front of the name may be left out."""
    return user if user.startswith(USER) else f"{USER}{user}"


def acl_fields(acl: Acl) -> dict[str, str]:
    """Return a rule with Kafka's names of its values."""
    return {
        "principal": acl.principal,
        "permission_type": acl.permission_type.name,
        "operation": acl.operation.name,
        "resource_type": acl.resource_type.name,
        "resource_name": acl.resource_name,
        "pattern_type": acl.pattern_type.name,
        "host": acl.host,
    }


def rule_fields(rule: Acl | str) -> dict[str, Any]:
    """Return what decided: `rule` is `ACL`, with it in `acl`, or the name of a default."""
    if isinstance(rule, str):
        return {"rule": rule, "acl": None}
    return {"rule": "ACL", "acl": acl_fields(rule)}


def rule_text(rule: Acl | str) -> str:
    """Return what decided in one line, such as `User:alice DENY READ TOPIC:LITERAL:orders`."""
    if isinstance(rule, str):
        return rule
    resource = f"{rule.resource_type.name}:{rule.pattern_type.name}:{rule.resource_name}"
    origin = "" if rule.host == WILDCARD else f" from {rule.host}"
    return f"{rule.principal} {rule.permission_type.name} {rule.operation.name} {resource}{origin}"


def denial_fields(denial: Denial) -> dict[str, Any]:
    """Return an operation that a request was not allowed to do, and what decided."""
    return {
        "operation": denial.check.operation.name,
        "resource_type": denial.check.resource_type.name,
        "resource_name": denial.resource_name,
        **rule_fields(denial.rule),
    }
