"""ListGroups: v0-5.

Behaviour:
    - Lists the groups that this broker coordinates; clients send it to every broker.
    - From v4 filters by state, from v5 by type, both ignoring case; an empty filter means all.
      As in Kafka the filter not_ready finds groups in the state NotReady, and NotReady none.
    - The type is classic, consumer, share or streams.
    - A client that may not describe the cluster gets the groups that it may describe.
"""

from broker.authorization.checks import DESCRIBE_CLUSTER_UNLISTED, DESCRIBE_GROUP_UNLISTED
from broker.cluster.cluster import Cluster
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced


@handles(ApiKey.LIST_GROUPS, checks=(DESCRIBE_CLUSTER_UNLISTED, DESCRIBE_GROUP_UNLISTED))
@may_pause
def handle_list_groups(
    context: RequestContext, request: "messages.ListGroupsRequest", cluster: Cluster
) -> "messages.ListGroupsResponse":
    """Kafka's `KafkaApis.handleListGroupsRequest`."""
    version = context.api_version
    lists_all = is_allowed(context, cluster, DESCRIBE_CLUSTER_UNLISTED, is_noted=False)
    return messages.ListGroupsResponse(
        version=version,
        error_code=ErrorCode.NONE,
        groups=[
            messages.ListGroupsResponse.ListedGroup(
                version=version,
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state,
                group_type=group.group_type,
            )
            for group in paced(
                (
                    *cluster.groups.table.list_groups(request.states_filter, request.types_filter),
                    *cluster.share.groups.list_groups(request.states_filter, request.types_filter),
                )
            )
            if cluster.coordinator_id(group.group_id) == context.broker_id
            and (
                lists_all
                or is_allowed(
                    context, cluster, DESCRIBE_GROUP_UNLISTED, group.group_id, is_noted=False
                )
            )
        ],
    )
