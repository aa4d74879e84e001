"""DeleteGroups: v0-3.

Behaviour:
    - Deletes groups without members, with their offsets, or their state if they are share groups.
      Each group has its own error: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, NOT_COORDINATOR. A name
      that occurs twice counts once. Groups that the client may not delete come last
      (GROUP_AUTHORIZATION_FAILED).
    - v3 has a message for each group. Kafka sets it if a plugin for the topologies of streams
      groups fails (GROUP_DELETION_FAILED). There is none here, so it is null.
"""

from broker.administration.share_offsets import delete_share_group
from broker.authorization.checks import DELETE_GROUP
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import in_coordinator_order, ownership_error
from broker.request.authorization import partition_by_authorized
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Result = messages.DeleteGroupsResponse.DeletableGroupResult


@handles(ApiKey.DELETE_GROUPS, checks=(DELETE_GROUP,))
@may_pause
def handle_delete_groups(
    context: RequestContext, request: "messages.DeleteGroupsRequest", cluster: Cluster
) -> "messages.DeleteGroupsResponse":
    """Kafka's `KafkaApis.handleDeleteGroupsRequest`."""
    version = context.api_version
    allowed, denied = partition_by_authorized(
        context, cluster, DELETE_GROUP, list(dict.fromkeys(request.groups_names)), str
    )
    results = [
        _Result(version=version, group_id=group_id, error_code=_delete(context, group_id, cluster))
        for group_id in paced(in_coordinator_order(cluster, allowed))
    ]
    results += [
        _Result(version=version, group_id=group_id, error_code=DELETE_GROUP.error_code)
        for group_id in paced(denied)
    ]
    return messages.DeleteGroupsResponse(version=version, results=results)


@may_pause
def _delete(context: RequestContext, group_id: str, cluster: Cluster) -> ErrorCode:
    error_code = ownership_error(cluster, context.broker_id, group_id)
    if error_code is not ErrorCode.NONE:
        return error_code
    share_group = cluster.share.groups.get(group_id)
    if share_group is not None:
        return delete_share_group(cluster, share_group, context.now_ms)
    return cluster.groups.table.delete_group(group_id, context.now_ms)
