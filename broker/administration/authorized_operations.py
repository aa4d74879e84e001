"""Authorized operations of a resource: all without an authorizer (KIP-430).

Sources: Kafka's `AclEntry.supportedOperations` and `AuthHelper.computeDescribeClusterResponse`.
"""

from broker.authorization.checks import DESCRIBE_CLUSTER_UNLISTED
from broker.cluster.cluster import Cluster
from broker.request.authorization import authorized_operations, is_allowed
from broker.request.context import RequestContext
from protocol.acls import CLUSTER_NAME, SUPPORTED_OPERATIONS, AclOperation, ResourceType
from protocol.releases import Release

TOPIC_OPERATIONS = SUPPORTED_OPERATIONS[ResourceType.TOPIC]
GROUP_OPERATIONS = SUPPORTED_OPERATIONS[ResourceType.GROUP]
CLUSTER_OPERATIONS = SUPPORTED_OPERATIONS[ResourceType.CLUSTER]
_GROUPS_HAVE_CONFIGS_SINCE: Release = (4, 0)

NOT_REQUESTED = -(2**31)
"""Value for a client that did not request them."""


def topic_operations(
    context: RequestContext, cluster: Cluster, name: str
) -> frozenset[AclOperation]:
    """Return the operations on a topic that the client may do."""
    return authorized_operations(context, cluster, ResourceType.TOPIC, name, TOPIC_OPERATIONS)


def cluster_operations(context: RequestContext, cluster: Cluster) -> frozenset[AclOperation]:
    """Return the operations on the cluster that the client may do; none if it may not describe."""
    if not is_allowed(context, cluster, DESCRIBE_CLUSTER_UNLISTED):
        return frozenset()
    return authorized_operations(
        context, cluster, ResourceType.CLUSTER, CLUSTER_NAME, CLUSTER_OPERATIONS
    )


def group_operations(release: Release) -> frozenset[AclOperation]:
    """Return the operations of a group in a release."""
    if release >= _GROUPS_HAVE_CONFIGS_SINCE:
        return GROUP_OPERATIONS
    return GROUP_OPERATIONS - {AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}


def bit_field(operations: frozenset[AclOperation]) -> int:
    """Return a set of operations as a bit field, with the bit of each code set."""
    return sum(1 << operation for operation in operations)
