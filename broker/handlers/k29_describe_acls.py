"""DescribeAcls: v1-3.

Behaviour:
    - There is no authorizer: SECURITY_DISABLED, as from Kafka without `authorizer.class.name`.
    - A filter with the code of an unknown type or operation closes the connection, as in Kafka.
"""

from broker.administration.acls import refuse_unknown
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode


@handles(ApiKey.DESCRIBE_ACLS)
def handle_describe_acls(
    context: RequestContext, request: "messages.DescribeAclsRequest", _cluster: Cluster
) -> "messages.DescribeAclsResponse | Close":
    """Kafka's `AclApis.handleDescribeAcls`."""
    return refuse_unknown(
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    ) or messages.DescribeAclsResponse(
        version=context.api_version,
        throttle_time_ms=0,
        error_code=ErrorCode.SECURITY_DISABLED,
        error_message="No Authorizer is configured on the broker",
        resources=[],
    )
