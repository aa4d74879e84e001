"""DescribeAcls: v1-3.

Behaviour:
    - Returns the rules that match a filter, by resource pattern, in the order in which they were
      created.
    - Without an authorizer (`authorizer.class.name`) the error is SECURITY_DISABLED.
    - A filter with the code of an unknown type or operation closes the connection, as in Kafka.
"""

from broker.administration.acls import refuse_unknown, requested_filter
from broker.authorization.acl import Acl
from broker.authorization.checks import DESCRIBE_CLUSTER
from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.request.cluster_operation import refuse_cluster_operation
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Resource = messages.DescribeAclsResponse.DescribeAclsResource
_NO_AUTHORIZER = Refusal(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")


@handles(ApiKey.DESCRIBE_ACLS, checks=(DESCRIBE_CLUSTER,))
@may_pause
def handle_describe_acls(
    context: RequestContext, request: "messages.DescribeAclsRequest", cluster: Cluster
) -> "messages.DescribeAclsResponse | Close":
    """Kafka's `AclApis.handleDescribeAcls`."""
    closed = refuse_unknown(
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    )
    if closed is not None:
        return closed
    version, authorizer = context.api_version, cluster.authorizer
    refusal = refuse_cluster_operation(context, cluster, DESCRIBE_CLUSTER)
    if authorizer is None:
        refusal = _NO_AUTHORIZER
    acls: list[Acl] = []
    if refusal is None and authorizer is not None:
        acls = authorizer.matching(requested_filter(request))
    return messages.DescribeAclsResponse(
        version=version,
        throttle_time_ms=0,
        error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
        error_message="" if refusal is None else refusal.error_message,
        resources=_resources(acls, version),
    )


@may_pause
def _resources(acls: list[Acl], version: int) -> list[_Resource]:
    resources: dict[tuple[int, str, int], _Resource] = {}
    for acl in paced(acls):
        pattern = acl.resource_type, acl.resource_name, acl.pattern_type
        resource = resources.get(pattern)
        if resource is None:
            resource = resources[pattern] = _Resource(
                version=version,
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                pattern_type=acl.pattern_type,
                acls=[],
            )
        resource.acls.append(
            _Resource.AclDescription(
                version=version,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission_type,
            )
        )
    return list(resources.values())
