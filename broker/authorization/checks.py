# ruff: noqa: E501
"""What requests are checked for: an operation on a type of resource, and the error of a denial.

A handler names those that it makes in `@handles(..., checks=...)`; docs/security.md lists them.
Sources: Kafka's `KafkaApis`, `ControllerApis` and `AclApis`.
"""

from typing import NamedTuple

from broker.authorization.acl import Acl, AclOperation, ResourceType
from protocol.errors import ErrorCode


class Check(NamedTuple):
    """One operation on one type of resource."""

    operation: AclOperation
    resource_type: ResourceType
    error_code: ErrorCode
    """The error of a denial. Where Kafka hides that the resource exists, it is that of its absence."""


class Denial(NamedTuple):
    """An operation that was not allowed, on which resource, and the rule that decided."""

    check: Check
    resource_name: str
    rule: Acl | str
    """An ACL, or the name of a default of the authorizer."""


# fmt: off
ALTER_CLUSTER                    = Check(AclOperation.ALTER,          ResourceType.CLUSTER,          ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
CLUSTER_ACTION_CLUSTER_BY_TOPIC  = Check(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER,          ErrorCode.TOPIC_AUTHORIZATION_FAILED)
DESCRIBE_CLUSTER                 = Check(AclOperation.DESCRIBE,       ResourceType.CLUSTER,          ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
READ_TOPIC                       = Check(AclOperation.READ,           ResourceType.TOPIC,            ErrorCode.TOPIC_AUTHORIZATION_FAILED)
WRITE_TOPIC                      = Check(AclOperation.WRITE,          ResourceType.TOPIC,            ErrorCode.TOPIC_AUTHORIZATION_FAILED)
WRITE_TRANSACTIONAL_ID           = Check(AclOperation.WRITE,          ResourceType.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
# fmt: on
