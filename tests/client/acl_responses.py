"""Rules of a topic, and responses about access control lists."""

from typing import Any

from client.resources import AccessControlEntry, ResourcePattern
from protocol import messages
from protocol.acls import AclOperation, PatternType, PermissionType, ResourceType

ORDERS = ResourcePattern(ResourceType.TOPIC, "orders", PatternType.LITERAL)
ALICE_READS = AccessControlEntry("User:alice", "*", AclOperation.READ, PermissionType.ALLOW)
ALL_DENIED = AccessControlEntry("User:*", "10.0.0.1", AclOperation.ALL, PermissionType.DENY)


def described(*entries: AccessControlEntry, error_code: int = 0, operation: int = 0) -> Any:
    """Return a DescribeAcls response with entries of one topic."""
    resource = messages.DescribeAclsResponse.DescribeAclsResource
    acls = [
        resource.AclDescription(
            principal=entry.principal or "",
            host=entry.host or "",
            operation=operation or entry.operation,
            permission_type=entry.permission_type,
        )
        for entry in entries
    ]
    return messages.DescribeAclsResponse(
        error_code=error_code,
        error_message="No Authorizer is configured." if error_code else None,
        resources=[
            resource(resource_type=2, resource_name="orders", pattern_type=3, acls=acls),
        ],
    )


def created(*error_codes: int) -> Any:
    result = messages.CreateAclsResponse.AclCreationResult
    return messages.CreateAclsResponse(
        results=[result(error_code=code, error_message=None) for code in error_codes]
    )


def deleted(*results: tuple[int, int]) -> Any:
    """Return a DeleteAcls response of filters that match one rule, with the error codes of both."""
    result = messages.DeleteAclsResponse.DeleteAclsFilterResult
    return messages.DeleteAclsResponse(
        filter_results=[
            result(
                error_code=code,
                error_message=None,
                matching_acls=[
                    result.DeleteAclsMatchingAcl(
                        error_code=code_of_rule,
                        error_message=None,
                        resource_type=2,
                        resource_name="orders",
                        pattern_type=3,
                        principal="User:alice",
                        host="*",
                        operation=3,
                        permission_type=3,
                    )
                ],
            )
            for code, code_of_rule in results
        ]
    )
