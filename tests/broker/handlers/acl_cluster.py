"""A cluster with an authorizer, and the rules that its tests add."""

from broker.authorization.acl import (
    Acl,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)
from broker.authorization.authorizer import Authorizer
from broker.cluster.cluster import Cluster
from tests.broker.cluster_builder import make_cluster

CLIENT = "User:ANONYMOUS"


def acl_cluster(
    broker_count: int = 1, /, *, super_users: str = CLIENT, **overrides: str
) -> Cluster:
    """A cluster with an authorizer, for whose super users there are no rules."""
    keys = {"authorizer.class.name": "acl", "super.users": super_users}
    return make_cluster(broker_count, **{**keys, **overrides})


def authorizer_of(cluster: Cluster) -> Authorizer:
    assert cluster.authorizer is not None
    return cluster.authorizer


def acl(
    resource_name: str = "orders",
    operation: AclOperation = AclOperation.READ,
    *,
    resource_type: ResourceType = ResourceType.TOPIC,
    pattern_type: PatternType = PatternType.LITERAL,
    principal: str = CLIENT,
    host: str = "*",
    permission_type: PermissionType = PermissionType.ALLOW,
) -> Acl:
    """A rule that allows a client without a name to read a topic."""
    return Acl(
        resource_type, resource_name, pattern_type, principal, host, operation, permission_type
    )
