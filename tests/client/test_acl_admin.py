"""Access control lists with the admin client."""

import pytest

from client.errors import ApiError
from client.resources import AccessControlEntry, AclBinding
from protocol.acls import AclOperation, PatternType, PermissionType, ResourceType
from tests.client.acl_responses import (
    ALICE_READS,
    ALL_DENIED,
    ORDERS,
    created,
    deleted,
    described,
)
from tests.client.scripted import admin_of


def test_rules_are_described_with_a_filter_or_all() -> None:
    admin, peer = admin_of(described(ALICE_READS, ALL_DENIED), described())
    assert admin.describe_acls(AclBinding(ORDERS)) == [
        AclBinding(ORDERS, ALICE_READS),
        AclBinding(ORDERS, ALL_DENIED),
    ]
    assert admin.describe_acls() == []
    one, everything = peer.requests
    assert (one.resource_type_filter, one.resource_name_filter, one.pattern_type_filter) == (
        ResourceType.TOPIC,
        "orders",
        PatternType.LITERAL,
    )
    assert (one.principal_filter, one.host_filter) == (None, None)
    assert (one.operation, one.permission_type) == (AclOperation.ANY, PermissionType.ANY)
    assert (everything.resource_type_filter, everything.resource_name_filter) == (1, None)


def test_an_error_of_the_whole_request_is_raised() -> None:
    admin, _ = admin_of(described(error_code=54))
    with pytest.raises(ApiError, match="No Authorizer is configured"):
        admin.describe_acls()


def test_an_operation_of_a_later_release_is_unknown() -> None:
    admin, _ = admin_of(described(ALICE_READS, operation=99))
    [acl] = admin.describe_acls()
    assert acl.entry.operation is AclOperation.UNKNOWN


def test_rules_are_created_and_each_has_its_outcome() -> None:
    admin, peer = admin_of(created(0, 42))
    first, second = admin.create_acls(
        [AclBinding(ORDERS, ALICE_READS), AclBinding(ORDERS, AccessControlEntry())]
    )
    assert first is None
    assert isinstance(second, ApiError)
    assert str(second) == "INVALID_REQUEST"
    creation, of_a_filter = peer.requests[0].creations
    assert (creation.resource_type, creation.resource_name) == (2, "orders")
    assert (creation.resource_pattern_type, creation.principal, creation.host) == (
        3,
        "User:alice",
        "*",
    )
    assert (creation.operation, creation.permission_type) == (3, 3)
    assert (of_a_filter.principal, of_a_filter.host) == ("", "")


def test_rules_are_deleted_and_each_filter_has_its_outcome() -> None:
    admin, peer = admin_of(deleted((0, 0), (42, 0), (0, 7)))
    filters = [AclBinding(ORDERS, ALICE_READS), AclBinding(), AclBinding(ORDERS)]
    found, refused, failed = admin.delete_acls(filters)
    assert found == [AclBinding(ORDERS, ALICE_READS)]
    assert isinstance(refused, ApiError)
    assert isinstance(failed, ApiError)
    assert (refused.error_code, failed.error_code) == (42, 7)
    assert [sent.resource_name_filter for sent in peer.requests[0].filters] == [
        "orders",
        None,
        "orders",
    ]
