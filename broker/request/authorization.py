"""May a request do an operation: the one place where requests are authorized.

Source: Kafka's `AuthHelper`.
"""

from broker.authorization.acl import CLUSTER_NAME
from broker.authorization.authorizer import Denial
from broker.authorization.checks import Check
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext


def is_allowed(
    context: RequestContext, cluster: Cluster, check: Check, resource_name: str = CLUSTER_NAME
) -> bool:
    """Whether the client may do an operation on a resource; everything without an authorizer.

    A denial is noted for the journal, with the rule that decided.
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
    if not decision.is_allowed:
        context.denials = (*context.denials, Denial(check, resource_name, decision.rule))
    return decision.is_allowed
