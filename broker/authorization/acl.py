"""One rule of access control lists; its enums are in `protocol.acls`."""

from dataclasses import dataclass

from protocol.acls import CLUSTER_NAME as CLUSTER_NAME
from protocol.acls import WILDCARD as WILDCARD
from protocol.acls import WILDCARD_PRINCIPAL as WILDCARD_PRINCIPAL
from protocol.acls import AclOperation as AclOperation
from protocol.acls import PatternType as PatternType
from protocol.acls import PermissionType as PermissionType
from protocol.acls import ResourceType as ResourceType


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
