"""DeleteAcls: v1-3.

Behaviour:
    - Returns the rules that match each filter, and deletes them. A rule that matches several
      filters is in the result of each. A filter without rules is no error.
    - INVALID_REQUEST: an unknown type, operation or permission. With more than 10,000 rules, or a
      million if a rule counts once for each filter, all filters get it and nothing is deleted.
    - Without an authorizer (`authorizer.class.name`) each filter gets SECURITY_DISABLED.
    - A filter with the code 0 of an unknown type or operation closes the connection, as in Kafka.
"""

from collections.abc import Sequence

from broker.administration.acls import (
    NO_AUTHORIZER,
    delete_acls,
    refuse_unknown,
    requested_filter,
)
from broker.authorization.acl import Acl
from broker.authorization.checks import ALTER_CLUSTER
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

_Result = messages.DeleteAclsResponse.DeleteAclsFilterResult


@handles(ApiKey.DELETE_ACLS, checks=(ALTER_CLUSTER,))
@may_pause
def handle_delete_acls(
    context: RequestContext, request: "messages.DeleteAclsRequest", cluster: Cluster
) -> "messages.DeleteAclsResponse | Close":
    """Kafka's `AclApis.handleDeleteAcls` and `AclControlManager.deleteAcls`."""
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
    closed = refuse_unknown(*codes)
    if closed is not None:
        return closed
    authorizer = cluster.authorizer
    results: list[Refusal | Sequence[Acl]]
    refusal = refuse_cluster_operation(context, cluster, ALTER_CLUSTER)
    if authorizer is None or refusal is not None:
        results = [refusal or NO_AUTHORIZER] * len(request.filters)
    else:
        filters = [requested_filter(acl_filter) for acl_filter in paced(request.filters)]
        results = delete_acls(authorizer, filters)
    return _response(results, context.api_version)


@may_pause
def _response(
    results: list[Refusal | Sequence[Acl]], version: int
) -> "messages.DeleteAclsResponse":
    filter_results, matching_acls = [], {}
    for result in paced(results):
        acls: Sequence[Acl] = () if isinstance(result, Refusal) else result
        for acl in paced(acls):
            if acl not in matching_acls:  # one object for all filters: there may be many
                matching_acls[acl] = _Result.DeleteAclsMatchingAcl(
                    version=version,
                    error_code=ErrorCode.NONE,
                    error_message=None,
                    resource_type=acl.resource_type,
                    resource_name=acl.resource_name,
                    pattern_type=acl.pattern_type,
                    principal=acl.principal,
                    host=acl.host,
                    operation=acl.operation,
                    permission_type=acl.permission_type,
                )
        filter_results.append(
            _Result(
                version=version,
                error_code=result.error_code if isinstance(result, Refusal) else ErrorCode.NONE,
                error_message=result.error_message if isinstance(result, Refusal) else None,
                matching_acls=[matching_acls[acl] for acl in paced(acls)],
            )
        )
    return messages.DeleteAclsResponse(
        version=version, throttle_time_ms=0, filter_results=filter_results
    )
