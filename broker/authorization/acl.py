"""One rule of access control lists; its enums are in `protocol.acls`."""

from dataclasses import dataclass

from protocol.acls import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)

__all__ = [
    "CLUSTER_NAME",
    "WILDCARD",
    "WILDCARD_PRINCIPAL",
    "Acl",
    "AclFilter",
    "AclOperation",
    "PatternType",
    "PermissionType",
    "ResourceType",
]


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
    """Which rules, as in Kafka's `AclBindingFilter`: ANY, and None, fit all values."""

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: PermissionType = PermissionType.ANY
