"""Requests that need one operation on the cluster, and the refusal of a client that may not do it.

Source: Kafka's `AuthHelper.authorizeClusterOperation`.
"""

from broker.authorization.checks import Check
from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES


def refuse_cluster_operation(
    context: RequestContext, cluster: Cluster, check: Check
) -> Refusal | None:
    """Return why the client may not do an operation on the cluster; None if it may.

    Kafka's message has the fields of its request object in place of the API's name.
    """
    if is_allowed(context, cluster, check):
        return None
    name = API_NAMES[ApiKey(context.api_key)]
    return Refusal(check.error_code, f"Request {name} needs {check.operation.name} permission.")
