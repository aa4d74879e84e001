"""Kafka's StandardAuthorizer: what the access control lists of a cluster decide.

Source: `org.apache.kafka.metadata.authorizer.StandardAuthorizerData`.
"""

from collections.abc import Callable
from typing import NamedTuple

from broker.authorization.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    AclFilter,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)
from broker.authorization.checks import Check

SUPER_USER = "SuperUser"
DEFAULT_ALLOW = "DefaultAllow"
DEFAULT_DENY = "DefaultDeny"


class Decision(NamedTuple):
    """Whether an operation is allowed, and the rule that decided: an ACL, or a default's name."""

    is_allowed: bool
    rule: Acl | str


class Denial(NamedTuple):
    """An operation that was not allowed, on which resource, and the rule that decided."""

    check: Check
    resource_name: str
    rule: Acl | str


class Authorizer:
    """The access control lists of a cluster, and its super users."""

    def __init__(
        self, super_users: frozenset[str] = frozenset(), *, allows_without_acl: bool = False
    ) -> None:
        """`super_users` have their type, such as `User:admin`.

        `allows_without_acl` is `allow.everyone.if.no.acl.found`.
        """
        self.super_users = super_users
        self.allows_without_acl = allows_without_acl
        self._acls: dict[Acl, None] = {}
        self.on_change: Callable[[], None] = lambda: None

    def add(self, acl: Acl) -> None:
        """Add a rule."""
        self._acls[acl] = None
        self.on_change()

    def remove(self, acl: Acl) -> None:
        """Remove a rule."""
        self._acls.pop(acl, None)
        self.on_change()

    def acls(self) -> list[Acl]:
        """Return all rules."""
        return list(self._acls)

    def matching(self, acl_filter: AclFilter) -> list[Acl]:
        """Return the rules that a filter selects."""
        return [acl for acl in self._acls if _fits(acl, acl_filter)]

    def authorize(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: ResourceType,
        resource_name: str,
    ) -> Decision:
        """Decide about one operation of a principal such as `User:alice` on one resource."""
        if principal in self.super_users:
            return Decision(True, SUPER_USER)
        found = [
            acl
            for acl in self.matching(AclFilter(resource_type, resource_name, PatternType.MATCH))
            if acl.principal in {principal, WILDCARD_PRINCIPAL}
            and acl.host in {host, WILDCARD}
            and acl.operation in {operation, AclOperation.ALL}
        ]
        for acl in sorted(found, key=lambda acl: acl.permission_type):
            return Decision(acl.permission_type is PermissionType.ALLOW, acl)
        return Decision(
            self.allows_without_acl, DEFAULT_ALLOW if self.allows_without_acl else DEFAULT_DENY
        )


def _fits(acl: Acl, acl_filter: AclFilter) -> bool:
    name = acl_filter.resource_name
    match acl_filter.pattern_type:
        case PatternType.MATCH if name is not None:
            if acl.pattern_type is PatternType.PREFIXED:
                has_name = name.startswith(acl.resource_name)
            else:
                has_name = acl.resource_name in {name, WILDCARD}
        case PatternType.ANY | PatternType.MATCH:
            has_name = name in {None, acl.resource_name}
        case pattern_type:
            has_name = name in {None, acl.resource_name} and acl.pattern_type is pattern_type
    return (
        has_name
        and acl_filter.resource_type in {ResourceType.ANY, acl.resource_type}
        and acl_filter.principal in {None, acl.principal}
        and acl_filter.host in {None, acl.host}
        and acl_filter.operation in {AclOperation.ANY, acl.operation}
        and acl_filter.permission_type in {PermissionType.ANY, acl.permission_type}
    )
