"""One rule of access control lists, and a filter of rules; their enums are in `protocol.acls`."""

from dataclasses import dataclass

from protocol.acls import (
    WILDCARD,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)


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
        if self.pattern_type != PatternType.MATCH:
            return False
        if acl.pattern_type == PatternType.PREFIXED:
            return self.resource_name.startswith(acl.resource_name)
        return acl.resource_name == WILDCARD
