"""DeleteAcls: v1-3.

Behaviour:
    - There is no authorizer: SECURITY_DISABLED for each filter, as from Kafka without
      `authorizer.class.name`.
    - A filter with the code of an unknown type or operation closes the connection, as in Kafka.
"""

from broker.administration.acls import NO_AUTHORIZER, refuse_unknown
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause, paced

_Result = messages.DeleteAclsResponse.DeleteAclsFilterResult


@handles(ApiKey.DELETE_ACLS)
@may_pause
def handle_delete_acls(
    context: RequestContext, request: "messages.DeleteAclsRequest", _cluster: Cluster
) -> "messages.DeleteAclsResponse | Close":
    """Kafka's `AclApis.handleDeleteAcls`."""
    version = context.api_version
    codes = (
        code
        for acl_filter in paced(request.filters)
        for code in (
            acl_filter.resource_type_filter,
            acl_filter.pattern_type_filter,
            acl_filter.operation,
            acl_filter.permission_type,
        )
    )
    return refuse_unknown(*codes) or messages.DeleteAclsResponse(
        version=version,
        throttle_time_ms=0,
        filter_results=[
            _Result(
                version=version,
                error_code=NO_AUTHORIZER.error_code,
                error_message=NO_AUTHORIZER.error_message,
                matching_acls=[],
            )
            for _acl_filter in paced(request.filters)
        ],
    )
