"""May a request do an operation: the one place where requests are authorized.

Source: Kafka's `AuthHelper`.
"""

from broker.authorization.acl import CLUSTER_NAME, AclOperation, ResourceType
from broker.authorization.checks import Check, Denial
from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.request.context import RequestContext

DENIALS_MAX = 100
"""How many denials of a request are noted."""


def is_allowed(
    context: RequestContext,
    cluster: Cluster,
    check: Check,
    resource_name: str = CLUSTER_NAME,
    *,
    is_noted: bool = True,
) -> bool:
    """Whether the client may do an operation on a resource; everything without an authorizer.

    A denial is noted for the journal, with the rule that decided, for the first `DENIALS_MAX` of a
    request, and unless `is_noted` is False: for what only leaves a resource out of a response.
    """
    authorizer = cluster.authorizer
    if authorizer is None:
        return True
    decision = authorizer.authorize(
        f"User:{context.principal}",
        context.client_host,
        check.operation,
        check.resource_type,
        resource_name,
    )
    if not decision.is_allowed and is_noted and len(context.denials) < DENIALS_MAX:
        context.denials = (*context.denials, Denial(check, resource_name, decision.rule))
    return decision.is_allowed


def refuse_cluster_operation(
    context: RequestContext, cluster: Cluster, check: Check
) -> Refusal | None:
    """Return the error of a request that needs an operation on the cluster, or None."""
    if is_allowed(context, cluster, check):
        return None
    return Refusal(check.error_code, f"Request needs {check.operation.name} permission.")


def may_any(
    context: RequestContext,
    cluster: Cluster,
    operation: AclOperation,
    resource_type: ResourceType,
) -> bool:
    """Whether the client may do an operation on at least one resource of a type."""
    authorizer = cluster.authorizer
    return authorizer is None or authorizer.authorize_by_resource_type(
        f"User:{context.principal}", context.client_host, operation, resource_type
    )


def authorized_operations(
    context: RequestContext,
    cluster: Cluster,
    resource_type: ResourceType,
    resource_name: str,
    supported: frozenset[AclOperation],
) -> frozenset[AclOperation]:
    """Return those of the `supported` operations that the client may do on a resource (KIP-430)."""
    authorizer = cluster.authorizer
    if authorizer is None:
        return supported
    principal, host = f"User:{context.principal}", context.client_host
    return frozenset(
        operation
        for operation in supported
        if authorizer.authorize(principal, host, operation, resource_type, resource_name).is_allowed
    )
