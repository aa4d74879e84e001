"""The part of the admin client for access control lists.

Source: Kafka's `KafkaAdminClient`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, TypedDict, TypeVar

from client.errors import ApiError, error_of
from client.group_admin import ResponseT
from client.resources import (
    AccessControlEntry,
    AclBinding,
    Address,
    ResourcePattern,
)
from protocol import messages
from protocol.acls import AclOperation, PatternType, PermissionType, ResourceType

if TYPE_CHECKING:
    _Described = messages.DescribeAclsResponse.DescribeAclsResource
    _Matching = messages.DeleteAclsResponse.DeleteAclsFilterResult.DeleteAclsMatchingAcl

ALL_ACLS = AclBinding()
_CodeT = TypeVar("_CodeT", bound=IntEnum)


class AclAdmin(ABC):
    """The methods of `Admin` for access control lists."""

    @abstractmethod
    def _ask(
        self, request: "messages.Request[ResponseT]", address: Address | None = None
    ) -> ResponseT: ...

    def describe_acls(self, acl_filter: AclBinding = ALL_ACLS) -> list[AclBinding]:
        """Return the rules that a filter selects, by default all.

        Raises:
            ApiError: the broker refuses the request.
        """
        response = self._ask(messages.DescribeAclsRequest(**_filter_fields(acl_filter)))
        error = error_of(response.error_code, response.error_message)
        if error is not None:
            raise error
        return [_binding(resource, acl) for resource in response.resources for acl in resource.acls]

    def create_acls(self, acls: Sequence[AclBinding]) -> list[ApiError | None]:
        """Add rules; return the outcomes in their order. A rule that there is stays.

        The broker refuses what only a filter has, such as no principal.
        """
        creation = messages.CreateAclsRequest.AclCreation
        request = messages.CreateAclsRequest(
            creations=[
                creation(
                    resource_type=pattern.resource_type,
                    resource_name=pattern.name or "",
                    resource_pattern_type=pattern.pattern_type,
                    principal=entry.principal or "",
                    host=entry.host or "",
                    operation=entry.operation,
                    permission_type=entry.permission_type,
                )
                for pattern, entry in acls
            ]
        )
        results = self._ask(request).results
        return [error_of(result.error_code, result.error_message) for result in results]

    def delete_acls(self, filters: Sequence[AclBinding]) -> list[list[AclBinding] | ApiError]:
        """Remove the rules that each filter selects; return them in the order of the filters."""
        filter_class = messages.DeleteAclsRequest.DeleteAclsFilter
        request = messages.DeleteAclsRequest(
            filters=[filter_class(**_filter_fields(acl_filter)) for acl_filter in filters]
        )
        return [_deleted(result) for result in self._ask(request).filter_results]


def _deleted(
    result: "messages.DeleteAclsResponse.DeleteAclsFilterResult",
) -> list[AclBinding] | ApiError:
    error = error_of(result.error_code, result.error_message)
    for acl in result.matching_acls:
        error = error or error_of(acl.error_code, acl.error_message)
    return error or [_binding(acl, acl) for acl in result.matching_acls]


class _FilterFields(TypedDict):
    resource_type_filter: ResourceType
    resource_name_filter: str | None
    pattern_type_filter: PatternType
    principal_filter: str | None
    host_filter: str | None
    operation: AclOperation
    permission_type: PermissionType


def _filter_fields(acl_filter: AclBinding) -> _FilterFields:
    """Return the fields that a filter has in DescribeAcls and in DeleteAcls."""
    pattern, entry = acl_filter
    return {
        "resource_type_filter": pattern.resource_type,
        "resource_name_filter": pattern.name,
        "pattern_type_filter": pattern.pattern_type,
        "principal_filter": entry.principal,
        "host_filter": entry.host,
        "operation": entry.operation,
        "permission_type": entry.permission_type,
    }


def _binding(
    resource: "_Described | _Matching",
    acl: "_Described.AclDescription | _Matching",
) -> AclBinding:
    """Return a rule from the parts of a response that have its resource and the rest of it."""
    return AclBinding(
        ResourcePattern(
            _known(ResourceType, resource.resource_type),
            resource.resource_name,
            _known(PatternType, resource.pattern_type),
        ),
        AccessControlEntry(
            acl.principal,
            acl.host,
            _known(AclOperation, acl.operation),
            _known(PermissionType, acl.permission_type),
        ),
    )


def _known(kind: type[_CodeT], code: int) -> _CodeT:
    """Return the member of a code; UNKNOWN for one of a later release."""
    return kind(code) if code in kind.__members__.values() else kind(0)
