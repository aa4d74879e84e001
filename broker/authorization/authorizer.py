"""Kafka's StandardAuthorizer: what the access control lists of a cluster decide.

Source: `org.apache.kafka.metadata.authorizer.StandardAuthorizerData`.
"""

from typing import NamedTuple

from broker.authorization.acl import Acl, AclOperation, ResourceType
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
        return Decision(
            self.allows_without_acl, DEFAULT_ALLOW if self.allows_without_acl else DEFAULT_DENY
        )
