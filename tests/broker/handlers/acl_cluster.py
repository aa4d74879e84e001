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


def switch_on(cluster: Cluster) -> Authorizer:
    """Return the authorizer of a cluster, which may get one now; what no rule is about is allowed.

    A cluster that runs gets none; here its clients find one at their next request.
    """
    if cluster.authorizer is None:
        cluster.authorizer = Authorizer(allows_without_acl=True)
        cluster.authorizer.on_change = cluster.note_change
        cluster.note_change()
    return cluster.authorizer


def set_denied(cluster: Cluster, topic: str, *, is_denied: bool) -> None:
    """Have all users be denied everything about a topic, or no longer."""
    authorizer = switch_on(cluster)
    rule = acl(topic, AclOperation.ALL, principal="User:*", permission_type=PermissionType.DENY)
    if is_denied:
        authorizer.add(rule)
    else:
        authorizer.remove(rule)


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
