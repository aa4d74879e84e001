"""DescribeCluster: v0-2.

Behaviour:
    - Returns the cluster id, the controller and the brokers that are up. From v2 a request may
      include those that are down, marked as fenced.
    - Controllers have no separate listeners: a request for their endpoints (v1) gets
      MISMATCHED_ENDPOINT_TYPE, another type UNSUPPORTED_ENDPOINT_TYPE.
    - Authorized operations, if requested, are those that the client may do: all without an
      authorizer, none without DESCRIBE on the cluster.
"""

from broker.administration.authorized_operations import cluster_operations
from broker.authorization.checks import DESCRIBE_CLUSTER_UNLISTED
from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

BROKER_ENDPOINTS = 1
CONTROLLER_ENDPOINTS = 2
ENDPOINT_TYPE_VERSION_MIN = 1
FENCED_BROKERS_VERSION_MIN = 2


@handles(ApiKey.DESCRIBE_CLUSTER, checks=(DESCRIBE_CLUSTER_UNLISTED,))
def handle_describe_cluster(
    context: RequestContext, request: "messages.DescribeClusterRequest", cluster: Cluster
) -> "messages.DescribeClusterResponse":
    """Kafka's `AuthHelper.computeDescribeClusterResponse`."""
    version = context.api_version
    if version >= ENDPOINT_TYPE_VERSION_MIN:
        refusal = _check_endpoint_type(request.endpoint_type)
        if refusal is not None:
            return messages.DescribeClusterResponse(
                version=version,
                error_code=refusal.error_code,
                error_message=refusal.error_message,
                cluster_id="",
                brokers=[],
            )
    includes_fenced = version >= FENCED_BROKERS_VERSION_MIN and request.include_fenced_brokers
    # This field is a set in our schemas; None means "not requested".
    asks_operations = request.include_cluster_authorized_operations
    operations = cluster_operations(context, cluster) if asks_operations else None
    return messages.DescribeClusterResponse(
        version=version,
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        error_message=None,
        endpoint_type=BROKER_ENDPOINTS,
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        brokers=[
            messages.DescribeClusterResponse.DescribeClusterBroker(
                version=version,
                broker_id=broker.node_id,
                host=address.host,
                port=address.port,
                rack=broker.rack,
                is_fenced=not broker.is_alive,
            )
            for broker, address in cluster.addresses(context.session.listener)
            if broker.is_alive or includes_fenced
        ],
        authorized_operations=operations,
    )


def _check_endpoint_type(endpoint_type: int) -> Refusal | None:
    if endpoint_type == BROKER_ENDPOINTS:
        return None
    if endpoint_type == CONTROLLER_ENDPOINTS:
        return Refusal(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of "
            "type CONTROLLER",
        )
    message = f"Unsupported endpoint type {endpoint_type}"
    return Refusal(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, message)
