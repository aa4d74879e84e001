# ruff: noqa: E501
"""What requests are checked for: an operation on a type of resource, and the error of a denial.

A handler names those that it makes in `@handles(..., checks=...)`; docs/security.md lists them.
Sources: Kafka's `KafkaApis`, `ControllerApis` and `AclApis`.
"""

from typing import NamedTuple

from broker.authorization.acl import Acl
from broker.errors import AUTHORIZATION_MESSAGES, Refusal
from protocol.acls import AclOperation, ResourceType
from protocol.errors import ErrorCode


class Check(NamedTuple):
    """One operation on one type of resource."""

    operation: AclOperation
    resource_type: ResourceType
    error_code: ErrorCode
    """The error of a denial. Where Kafka hides that the resource exists, it is that of its absence.

    NONE: nothing fails, and the response has less.
    """

    @property
    def refusal(self) -> Refusal:
        """The denial as a value, with Kafka's text of the error."""
        return Refusal(self.error_code, AUTHORIZATION_MESSAGES.get(self.error_code))


class Denial(NamedTuple):
    """An operation that was not allowed, on which resource, and the rule that decided."""

    check: Check
    resource_name: str
    rule: Acl | str
    """An ACL, or the name of a default of the authorizer."""


# fmt: off
ALTER_CLUSTER                      = Check(AclOperation.ALTER,            ResourceType.CLUSTER,          ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
ALTER_CONFIGS_CLUSTER              = Check(AclOperation.ALTER_CONFIGS,    ResourceType.CLUSTER,          ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
ALTER_CONFIGS_GROUP                = Check(AclOperation.ALTER_CONFIGS,    ResourceType.GROUP,            ErrorCode.GROUP_AUTHORIZATION_FAILED)
ALTER_CONFIGS_TOPIC                = Check(AclOperation.ALTER_CONFIGS,    ResourceType.TOPIC,            ErrorCode.TOPIC_AUTHORIZATION_FAILED)
ALTER_TOPIC                        = Check(AclOperation.ALTER,            ResourceType.TOPIC,            ErrorCode.TOPIC_AUTHORIZATION_FAILED)
CLUSTER_ACTION_CLUSTER             = Check(AclOperation.CLUSTER_ACTION,   ResourceType.CLUSTER,          ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
CLUSTER_ACTION_CLUSTER_BY_TOPIC    = Check(AclOperation.CLUSTER_ACTION,   ResourceType.CLUSTER,          ErrorCode.TOPIC_AUTHORIZATION_FAILED)
CREATE_CLUSTER                     = Check(AclOperation.CREATE,           ResourceType.CLUSTER,          ErrorCode.TOPIC_AUTHORIZATION_FAILED)
CREATE_CLUSTER_STATUS              = Check(AclOperation.CREATE,           ResourceType.CLUSTER,          ErrorCode.NONE)
CREATE_TOKENS_USER                 = Check(AclOperation.CREATE_TOKENS,    ResourceType.USER,             ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
CREATE_TOPIC                       = Check(AclOperation.CREATE,           ResourceType.TOPIC,            ErrorCode.TOPIC_AUTHORIZATION_FAILED)
CREATE_TOPIC_STATUS                = Check(AclOperation.CREATE,           ResourceType.TOPIC,            ErrorCode.NONE)
DELETE_CLUSTER                     = Check(AclOperation.DELETE,           ResourceType.CLUSTER,          ErrorCode.TOPIC_AUTHORIZATION_FAILED)
DELETE_GROUP                       = Check(AclOperation.DELETE,           ResourceType.GROUP,            ErrorCode.GROUP_AUTHORIZATION_FAILED)
DELETE_TOPIC                       = Check(AclOperation.DELETE,           ResourceType.TOPIC,            ErrorCode.TOPIC_AUTHORIZATION_FAILED)
DESCRIBE_CLUSTER                   = Check(AclOperation.DESCRIBE,         ResourceType.CLUSTER,          ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
DESCRIBE_CLUSTER_UNLISTED          = Check(AclOperation.DESCRIBE,         ResourceType.CLUSTER,          ErrorCode.NONE)
DESCRIBE_CONFIGS_CLUSTER           = Check(AclOperation.DESCRIBE_CONFIGS, ResourceType.CLUSTER,          ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
DESCRIBE_CONFIGS_GROUP             = Check(AclOperation.DESCRIBE_CONFIGS, ResourceType.GROUP,            ErrorCode.GROUP_AUTHORIZATION_FAILED)
DESCRIBE_CONFIGS_TOPIC             = Check(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC,            ErrorCode.TOPIC_AUTHORIZATION_FAILED)
DESCRIBE_DELEGATION_TOKEN          = Check(AclOperation.DESCRIBE,         ResourceType.DELEGATION_TOKEN, ErrorCode.NONE)
DESCRIBE_GROUP                     = Check(AclOperation.DESCRIBE,         ResourceType.GROUP,            ErrorCode.GROUP_AUTHORIZATION_FAILED)
DESCRIBE_GROUP_UNLISTED            = Check(AclOperation.DESCRIBE,         ResourceType.GROUP,            ErrorCode.NONE)
DESCRIBE_TOKENS_USER               = Check(AclOperation.DESCRIBE_TOKENS,  ResourceType.USER,             ErrorCode.NONE)
DESCRIBE_TOPIC                     = Check(AclOperation.DESCRIBE,         ResourceType.TOPIC,            ErrorCode.TOPIC_AUTHORIZATION_FAILED)
DESCRIBE_TOPIC_UNLISTED            = Check(AclOperation.DESCRIBE,         ResourceType.TOPIC,            ErrorCode.NONE)
DESCRIBE_TRANSACTIONAL_ID          = Check(AclOperation.DESCRIBE,         ResourceType.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
DESCRIBE_TRANSACTIONAL_ID_UNLISTED = Check(AclOperation.DESCRIBE,         ResourceType.TRANSACTIONAL_ID, ErrorCode.NONE)
IDEMPOTENT_WRITE_CLUSTER           = Check(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER,          ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
READ_GROUP                         = Check(AclOperation.READ,             ResourceType.GROUP,            ErrorCode.GROUP_AUTHORIZATION_FAILED)
READ_TOPIC                         = Check(AclOperation.READ,             ResourceType.TOPIC,            ErrorCode.TOPIC_AUTHORIZATION_FAILED)
TWO_PHASE_COMMIT_TRANSACTIONAL_ID  = Check(AclOperation.TWO_PHASE_COMMIT, ResourceType.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
WRITE_TOPIC                        = Check(AclOperation.WRITE,            ResourceType.TOPIC,            ErrorCode.TOPIC_AUTHORIZATION_FAILED)
WRITE_TOPIC_ANY                    = Check(AclOperation.WRITE,            ResourceType.TOPIC,            ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
WRITE_TRANSACTIONAL_ID             = Check(AclOperation.WRITE,            ResourceType.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
# fmt: on
"""UNLISTED: what a client may not describe is left out of a list, without an error. ANY: on no topic."""
