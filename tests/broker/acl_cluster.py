"""Clusters with an authorizer, and what their clients may do."""

from typing import Any

from broker.authorization.acl import Acl
from broker.authorization.authorizer import Authorizer
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import ROUTES
from protocol import codec
from protocol.acls import CLUSTER_NAME, AclOperation, PatternType, PermissionType, ResourceType
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import make_cluster, make_context

AUTHORIZER = {"authorizer.class.name": "acl"}
CLIENT = "User:ANONYMOUS"
EVERYBODY = "User:*"
ANY_FILTER = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
"""The fields of a filter in a request, for all rules."""


def make_acl_cluster(*rights: str, **overrides: str) -> Cluster:
    """Return a cluster whose clients may do `rights`, and nothing else; keys have dots."""
    cluster = make_cluster(**AUTHORIZER, **overrides)
    allow(cluster, *rights)
    return cluster


def allow(cluster: Cluster, *rights: str) -> None:
    """Let every client do `rights`, such as `ALTER CLUSTER`, `READ TOPIC a`, `READ TOPIC *`."""
    for right in rights:
        authorizer_of(cluster).add(_rule(right, PermissionType.ALLOW))


def deny(cluster: Cluster, right: str) -> None:
    """Add a rule that denies every client one right."""
    authorizer_of(cluster).add(_rule(right, PermissionType.DENY))


def _rule(right: str, permission_type: PermissionType) -> Acl:
    operation, resource_type, *names = right.split()
    return acl(
        names[0] if names else CLUSTER_NAME,
        AclOperation[operation],
        resource_type=ResourceType[resource_type],
        principal=EVERYBODY,
        permission_type=permission_type,
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
    return make_cluster(broker_count, **AUTHORIZER, **{"super.users": super_users}, **overrides)


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
    rule = _rule(f"ALL TOPIC {topic}", PermissionType.DENY)
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


def acl_of(resource: Any, rule: Any) -> Acl:
    """Return a rule from the parts of a response that have its resource and the rest of it."""
    return Acl(
        resource.resource_type,
        resource.resource_name,
        resource.pattern_type,
        rule.principal,
        rule.host,
        rule.operation,
        rule.permission_type,
    )
