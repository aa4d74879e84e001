"""What a client may do with a resource where nothing forbids it: everything (KIP-430).

Source: Kafka's `AclEntry.supportedOperations`.
"""

from enum import IntEnum


class AclOperation(IntEnum):
    """What can be allowed or denied, numbered as in Kafka's `AclOperation`."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


TOPIC_OPERATIONS = frozenset(AclOperation) - {
    AclOperation.CLUSTER_ACTION,
    AclOperation.IDEMPOTENT_WRITE,
}
CLUSTER_OPERATIONS = frozenset(AclOperation) - {
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.DELETE,
}

NOT_REQUESTED = -(2**31)
"""In place of a bit field: the client didn't ask."""


def bit_field(operations: frozenset[AclOperation]) -> int:
    """A set of operations as the wire has it: one number, with the bit of each code set."""
    return sum(1 << operation for operation in operations)
