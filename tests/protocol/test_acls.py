"""The enums of access control lists have the numbers of the protocol."""

from enum import IntEnum

import pytest
from kafka.admin import ACLOperation, ACLPermissionType, ACLResourcePatternType
from kafka.admin import ResourceType as TheirResourceType

from protocol.acls import (
    SUPPORTED_OPERATIONS,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (AclOperation, ACLOperation),
        (PatternType, ACLResourcePatternType),
        (PermissionType, ACLPermissionType),
        (ResourceType, TheirResourceType),
    ],
)
def test_the_names_and_numbers_are_those_that_a_client_knows(
    ours: type[IntEnum], theirs: type[IntEnum]
) -> None:
    numbers = {name: member.value for name, member in theirs.__members__.items()}
    assert (
        numbers.items() <= {name: member.value for name, member in ours.__members__.items()}.items()
    )


def test_every_type_of_resource_has_operations() -> None:
    assert SUPPORTED_OPERATIONS.keys() == set(ResourceType) - {
        ResourceType.UNKNOWN,
        ResourceType.ANY,
    }
    operations = frozenset[AclOperation]().union(*SUPPORTED_OPERATIONS.values())
    others = {AclOperation.UNKNOWN, AclOperation.ANY, AclOperation.ALL}
    assert operations == set(AclOperation) - others
