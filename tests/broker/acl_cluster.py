"""Clusters with an authorizer, and what their clients may do."""

from typing import Any

from broker.authorization.acl import (
    CLUSTER_NAME,
    Acl,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)
from broker.authorization.authorizer import Authorizer
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import ROUTES
from protocol import codec
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import make_cluster, make_context

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
}
CLIENT = "User:ANONYMOUS"


def make_acl_cluster(*rights: str, **overrides: str) -> Cluster:
    """Return a cluster whose clients may do `rights`, and nothing else; keys have dots."""
    cluster = make_cluster(**AUTHORIZER, **overrides)
    allow(cluster, *rights)
    return cluster


def allow(cluster: Cluster, *rights: str) -> None:
    """Let every client do `rights`, such as `ALTER CLUSTER`, `READ TOPIC a`, `READ TOPIC *`."""
    assert cluster.authorizer is not None
    for right in rights:
        operation, resource_type, *names = right.split()
        cluster.authorizer.add(
            Acl(
                ResourceType[resource_type],
                names[0] if names else CLUSTER_NAME,
                PatternType.LITERAL,
                "User:*",
                "*",
                AclOperation[operation],
                PermissionType.ALLOW,
            )
        )


def send(cluster: Cluster, request: Any, version: int, **fields: Any) -> tuple[Any, list[str]]:
    """Send a request; return its response, and the denials that are noted, such as `ALTER TOPIC a`.

    Both are encoded and decoded. `fields` are those of the context.
    """
    api_key = ApiKey(request.API_KEY)
    context = make_context(api_key, version, **fields)
    body = bytes(request.encode(version=version))
    decoded = codec.decode_request(api_key, version, body, 0, len(body))
    response = ROUTES[api_key].handler(context, decoded, cluster)
    encoded = bytes(response.encode(version=version))
    return type(response).decode(encoded, version=version), noted(context)


def noted(context: RequestContext) -> list[str]:
    """Return what a request was not allowed to do, as far as it is noted."""
    return [
        f"{denial.check.operation.name} {denial.check.resource_type.name} {denial.resource_name}"
        for denial in context.denials
    ]


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
