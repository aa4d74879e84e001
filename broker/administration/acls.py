"""Requests about access control lists: what they say, and which rules are refused.

Sources: Kafka's `AclApis` and `AclControlManager`; `CreateAclsRequest`, `DeleteAclsRequest` and
`DescribeAclsRequest`.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import TypeVar

from broker.authorization.acl import Acl, AclFilter
from broker.authorization.authorizer import Authorizer
from broker.authorization.hosts import address_range
from broker.errors import Refusal
from broker.responses import Close
from protocol import messages
from protocol.acls import (
    CLUSTER_NAME,
    WILDCARD,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

UNKNOWN, ANY = 0, 1
"""The codes of an unknown and of any resource type, pattern type, operation or permission type."""
CHANGES_MAX = 10_000
"""The most rules that a request may create or delete."""
MATCHES_MAX = 1_000_000
"""The most rules that the filters of a DeleteAcls may match, counted for each filter: more do not
fit into a response."""
CIDR_METADATA_VERSION_MIN = 32

FAILED = Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)
NO_AUTHORIZER = Refusal(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
TOO_MANY_CREATIONS = Refusal(
    ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
)
TOO_MANY_DELETIONS = Refusal(
    ErrorCode.INVALID_REQUEST,
    f"Cannot remove more than {CHANGES_MAX} acls in a single delete operation.",
)

_ANY_OR_UNKNOWN = frozenset({UNKNOWN, ANY})
_EnumT = TypeVar("_EnumT", bound=IntEnum)


def refuse_unknown(*codes: int) -> Close | None:
    """Close the connection of a request with an unknown type or operation, as Kafka does."""
    if UNKNOWN in codes:
        return Close("ACL request with an unknown type or operation")
    return None


def requested_acl(creation: "messages.CreateAclsRequest.AclCreation") -> Acl:
    """Return the rule that a request wants to create."""
    return Acl(
        _of_code(ResourceType, creation.resource_type),
        creation.resource_name,
        _of_code(PatternType, creation.resource_pattern_type),
        creation.principal,
        creation.host,
        _of_code(AclOperation, creation.operation),
        _of_code(PermissionType, creation.permission_type),
    )


def requested_filter(
    request: "messages.DescribeAclsRequest | messages.DeleteAclsRequest.DeleteAclsFilter",
) -> AclFilter:
    """Return the filter of a request."""
    return AclFilter(
        _of_code(ResourceType, request.resource_type_filter),
        request.resource_name_filter,
        _of_code(PatternType, request.pattern_type_filter),
        request.principal_filter,
        request.host_filter,
        _of_code(AclOperation, request.operation),
        _of_code(PermissionType, request.permission_type),
    )


def _of_code(kind: type[_EnumT], code: int) -> _EnumT:
    try:
        return kind(code)
    except ValueError:
        return kind(UNKNOWN)


def is_of_filters(acl: Acl) -> bool:
    """Whether a rule has what only filters have: Kafka makes no object of it."""
    return acl.pattern_type in {PatternType.ANY, PatternType.MATCH} or ANY in {
        acl.resource_type,
        acl.operation,
        acl.permission_type,
    }


def refuse_acl(acl: Acl, metadata_version: int) -> Refusal | None:
    """Return why a rule cannot be created at a level of metadata.version, or None."""
    problem = None
    if acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        problem = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    elif not acl.resource_name:
        problem = "Invalid empty resource name"
    elif acl.resource_type in _ANY_OR_UNKNOWN:
        problem = f"Invalid resourceType {acl.resource_type.name}"
    elif acl.pattern_type not in {PatternType.LITERAL, PatternType.PREFIXED}:
        problem = f"Invalid patternType {acl.pattern_type.name}"
    elif acl.operation in _ANY_OR_UNKNOWN:
        problem = f"Invalid operation {acl.operation.name}"
    elif acl.permission_type in _ANY_OR_UNKNOWN:
        problem = f"Invalid permissionType {acl.permission_type.name}"
    elif ":" not in acl.principal:
        problem = (
            f"Could not parse principal from `{acl.principal}` (no colon is present separating the"
            " principal type from the principal name)"
        )
    if problem is not None:
        return Refusal(ErrorCode.INVALID_REQUEST, problem)
    return _refuse_host(acl.host, metadata_version)


def _refuse_host(host: str, metadata_version: int) -> Refusal | None:
    if not host:
        return Refusal(ErrorCode.INVALID_REQUEST, "Host pattern cannot be null or empty")
    if host == WILDCARD or "/" not in host:
        return None
    if metadata_version < CIDR_METADATA_VERSION_MIN:
        return Refusal(
            ErrorCode.UNSUPPORTED_VERSION,
            "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher.",
        )
    try:
        address_range(host)
    except ValueError as error:
        problem = f"Invalid CIDR notation '{host}': {error}"
        return Refusal(ErrorCode.INVALID_REQUEST, problem)
    return None


def refuse_filter(acl_filter: AclFilter) -> Refusal | None:
    """Return why no rule can be deleted by a filter, or None."""
    if UNKNOWN in {acl_filter.resource_type, acl_filter.pattern_type}:
        return Refusal(ErrorCode.INVALID_REQUEST, "Unknown patternFilter.")
    if UNKNOWN in {acl_filter.operation, acl_filter.permission_type}:
        return Refusal(ErrorCode.INVALID_REQUEST, "Unknown entryFilter.")
    return None


@may_pause
def create_acls(
    authorizer: Authorizer, acls: Sequence[Acl], metadata_version: int
) -> list[Refusal | None]:
    """Add the valid ones of the rules that are not there yet; return why each is refused, or None.

    With more than `CHANGES_MAX` new rules none is added, as with one that `is_of_filters`.
    """
    if any(is_of_filters(acl) for acl in paced(acls)):
        return [FAILED] * len(acls)
    refusals = [refuse_acl(acl, metadata_version) for acl in paced(acls)]
    pairs = paced(zip(acls, refusals, strict=True))
    new = {acl: None for acl, refusal in pairs if refusal is None and acl not in authorizer}
    if len(new) > CHANGES_MAX:
        return [refusal or TOO_MANY_CREATIONS for refusal in refusals]
    for acl in paced(new):
        authorizer.add(acl)
    return refusals


@may_pause
def delete_acls(
    authorizer: Authorizer, filters: Sequence[AclFilter]
) -> list[Refusal | Sequence[Acl]]:
    """Remove the rules of some filters; return those of each filter, or why it is refused.

    A rule of several filters is in the result of each. With more than `CHANGES_MAX` rules none is
    removed.
    """
    by_filter: dict[AclFilter, Refusal | Sequence[Acl]] = {}
    found: dict[Acl, None] = {}
    match_count = 0
    for acl_filter in paced(filters):
        result = by_filter.get(acl_filter)
        if result is None:
            result = refuse_filter(acl_filter) or authorizer.matching(acl_filter)
            by_filter[acl_filter] = result
        if not isinstance(result, Refusal):
            found |= dict.fromkeys(result)
            match_count += len(result)
        if len(found) > CHANGES_MAX or match_count > MATCHES_MAX:
            return [TOO_MANY_DELETIONS] * len(filters)
    # Another request may have removed some of them during a pause.
    removed = {acl for acl in paced(found) if authorizer.remove(acl)}
    for acl_filter, result in paced(by_filter.items()):
        if not isinstance(result, Refusal):
            by_filter[acl_filter] = [acl for acl in paced(result) if acl in removed]
    return [by_filter[acl_filter] for acl_filter in paced(filters)]
