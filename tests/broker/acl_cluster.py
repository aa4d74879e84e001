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
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import ROUTES
from protocol import codec
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import make_cluster, make_context

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
}


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
