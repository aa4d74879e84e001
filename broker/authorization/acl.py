"""Access control lists: resources, patterns, operations, permissions, and one rule of them.

Numbers and names are those of Kafka's `ResourceType`, `PatternType`, `AclOperation` and
`AclPermissionType`.
"""

from dataclasses import dataclass
from enum import IntEnum

WILDCARD = "*"
"""Any resource, as the name of a literal pattern; any host; any user, as `User:*`."""
WILDCARD_PRINCIPAL = "User:*"
CLUSTER_NAME = "kafka-cluster"
"""The name of the only resource of type CLUSTER."""


class ResourceType(IntEnum):
    """What a rule is about."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How a rule names its resources. ANY and MATCH are for filters only."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """What a client does with a resource."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class PermissionType(IntEnum):
    """Whether a rule allows or denies."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


@dataclass(frozen=True, slots=True)
class Acl:
    """One rule, as in Kafka's `AclBinding`. `principal` has its type, such as `User:alice`."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission_type: PermissionType


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Which rules, as in Kafka's `AclBindingFilter`. Its default is all of them.

    None is any name, principal or host, and ANY any type, operation or permission. A name matches
    the name of a pattern; with the pattern type MATCH it is that of a resource, and matches every
    pattern that the resource has.
    """

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: PermissionType = PermissionType.ANY

    def matches(self, acl: Acl) -> bool:
        """Whether a rule is one of them."""
        return (
            self.resource_type in {ResourceType.ANY, acl.resource_type}
            and self._matches_pattern(acl)
            and self.principal in {None, acl.principal}
            and self.host in {None, acl.host}
            and self.operation in {AclOperation.ANY, acl.operation}
            and self.permission_type in {PermissionType.ANY, acl.permission_type}
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        if self.pattern_type not in {PatternType.ANY, PatternType.MATCH, acl.pattern_type}:
            return False
        if self.resource_name is None or self.resource_name == acl.resource_name:
            return True
        if self.pattern_type is not PatternType.MATCH:
            return False
        if acl.pattern_type is PatternType.PREFIXED:
            return self.resource_name.startswith(acl.resource_name)
        return acl.resource_name == WILDCARD
