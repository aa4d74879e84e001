"""CreateAcls: v1-3.

Behaviour:
    - Each rule is created or refused by itself. One that is there already is no error. Rules apply
      from the next request on, at all brokers.
    - INVALID_REQUEST: an unknown type, operation or permission; an empty name, or another name of
      the cluster than kafka-cluster; a principal without a type, which `User:alice` has; an empty
      host, or a range of addresses that is none. Other hosts are taken as they are. Ranges get
      UNSUPPORTED_VERSION if metadata.version is below 4.4-IV1.
    - A rule with ANY or MATCH, which are for filters, fails the request: all rules get
      UNKNOWN_SERVER_ERROR.
    - With more than 10,000 new rules none is created: POLICY_VIOLATION.
    - Without an authorizer (`authorizer.class.name`) each rule gets SECURITY_DISABLED.
    - A rule with the code 0 of an unknown type or operation closes the connection, as in Kafka.
"""

from broker.administration.acls import (
    NO_AUTHORIZER,
    create_acls,
    refuse_unknown,
    requested_acl,
)
from broker.authorization.checks import ALTER_CLUSTER
from broker.cluster.cluster import Cluster
from broker.config.features import METADATA_VERSION
from broker.errors import Refusal
from broker.request.cluster_operation import refuse_cluster_operation
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Result = messages.CreateAclsResponse.AclCreationResult


@handles(ApiKey.CREATE_ACLS, checks=(ALTER_CLUSTER,))
@may_pause
def handle_create_acls(
    context: RequestContext, request: "messages.CreateAclsRequest", cluster: Cluster
) -> "messages.CreateAclsResponse | Close":
    """Kafka's `AclApis.handleCreateAcls` and `AclControlManager.createAcls`."""
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
    closed = refuse_unknown(*codes)
    if closed is not None:
        return closed
    version, authorizer = context.api_version, cluster.authorizer
    refusals: list[Refusal | None]
    refusal = refuse_cluster_operation(context, cluster, ALTER_CLUSTER)
    if authorizer is None or refusal is not None:
        refusals = [refusal or NO_AUTHORIZER] * len(request.creations)
    else:
        acls = [requested_acl(creation) for creation in paced(request.creations)]
        refusals = create_acls(authorizer, acls, cluster.features.level(METADATA_VERSION))
    return messages.CreateAclsResponse(
        version=version,
        throttle_time_ms=0,
        results=[
            _Result(
                version=version,
                error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
                error_message="" if refusal is None else refusal.error_message,
            )
            for refusal in paced(refusals)
        ],
    )
