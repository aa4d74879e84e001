"""CreateAcls: v1-3.

Behaviour:
    - There is no authorizer: SECURITY_DISABLED for each ACL, as from Kafka without
      `authorizer.class.name`.
    - An ACL with the code of an unknown type or operation closes the connection, as in Kafka.
"""

from broker.administration.acls import NO_AUTHORIZER, refuse_unknown
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause, paced

_Result = messages.CreateAclsResponse.AclCreationResult


@handles(ApiKey.CREATE_ACLS)
@may_pause
def handle_create_acls(
    context: RequestContext, request: "messages.CreateAclsRequest", _cluster: Cluster
) -> "messages.CreateAclsResponse | Close":
    """Kafka's `AclApis.handleCreateAcls`."""
    version = context.api_version
    codes = (
        code
        for creation in paced(request.creations)
        for code in (
            creation.resource_type,
            creation.resource_pattern_type,
            creation.operation,
            creation.permission_type,
        )
    )
    return refuse_unknown(*codes) or messages.CreateAclsResponse(
        version=version,
        throttle_time_ms=0,
        results=[
            _Result(
                version=version,
                error_code=NO_AUTHORIZER.error_code,
                error_message=NO_AUTHORIZER.error_message,
            )
            for _creation in paced(request.creations)
        ],
    )
