"""Authorized operations of a resource: all, since there is no authorization (KIP-430)."""

from protocol.acls import SUPPORTED_OPERATIONS, AclOperation, ResourceType
from protocol.releases import Release

TOPIC_OPERATIONS = SUPPORTED_OPERATIONS[ResourceType.TOPIC]
GROUP_OPERATIONS = SUPPORTED_OPERATIONS[ResourceType.GROUP]
CLUSTER_OPERATIONS = SUPPORTED_OPERATIONS[ResourceType.CLUSTER]
_GROUPS_HAVE_CONFIGS_SINCE: Release = (4, 0)

NOT_REQUESTED = -(2**31)
"""Value for a client that did not request them."""


def group_operations(release: Release) -> frozenset[AclOperation]:
    """Return the operations of a group in a release."""
    if release >= _GROUPS_HAVE_CONFIGS_SINCE:
        return GROUP_OPERATIONS
    return GROUP_OPERATIONS - {AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}


def bit_field(operations: frozenset[AclOperation]) -> int:
    """Return a set of operations as a bit field, with the bit of each code set."""
    return sum(1 << operation for operation in operations)
