"""DescribeGroups: v0-6.

Behaviour:
    - Returns the state, protocol and members of each group. Metadata and the protocol's name are
      there only while the group is stable.
    - A group that does not exist, or is no classic group, is Dead; from v6 it also gets
      GROUP_ID_NOT_FOUND (KIP-1043).
    - A group of another coordinator gets NOT_COORDINATOR.
    - Groups are in the order of their partitions of `__consumer_offsets`, before Kafka 4.0
      (broker.api.versions) in request order.
    - Groups that the client may not describe come first (GROUP_AUTHORIZATION_FAILED).
    - Authorized operations (v3+), if requested, are those of a group that is described.
"""

from broker.administration.authorized_operations import group_operations
from broker.authorization.checks import DESCRIBE_GROUP
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import in_coordinator_order, ownership_error
from broker.config.api_versions import release_of
from broker.groups.results import DescribedMember, GroupState
from broker.request.authorization import authorized_operations, partition_by_authorized
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.acls import ResourceType
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced
from protocol.releases import Release

AUTHORIZED_OPERATIONS_VERSION_MIN = 3
MISSING_GROUP_VERSION_MIN = 6
_ORDERED_BY_PARTITION_SINCE: Release = (4, 0)

_GroupResponse = messages.DescribeGroupsResponse.DescribedGroup


@handles(ApiKey.DESCRIBE_GROUPS, checks=(DESCRIBE_GROUP,))
@may_pause
def handle_describe_groups(
    context: RequestContext, request: "messages.DescribeGroupsRequest", cluster: Cluster
) -> "messages.DescribeGroupsResponse":
    """Kafka's `KafkaApis.handleDescribeGroupsRequest`."""
    version = context.api_version
    release = release_of(cluster.config.for_broker(context.broker_id))
    group_ids, denied = partition_by_authorized(
        context, cluster, DESCRIBE_GROUP, request.groups, str
    )
    if release >= _ORDERED_BY_PARTITION_SINCE:
        group_ids = in_coordinator_order(cluster, group_ids)
    groups = [_describe(context, group_id, cluster) for group_id in paced(group_ids)]
    if version >= AUTHORIZED_OPERATIONS_VERSION_MIN and request.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = authorized_operations(
                    context, cluster, ResourceType.GROUP, group.group_id, group_operations(release)
                )
    refused = [
        _GroupResponse(version=version, group_id=group_id, error_code=DESCRIBE_GROUP.error_code)
        for group_id in paced(denied)
    ]
    return messages.DescribeGroupsResponse(version=version, groups=refused + groups)


@may_pause
def _describe(context: RequestContext, group_id: str, cluster: Cluster) -> _GroupResponse:
    version = context.api_version
    error_code = ownership_error(cluster, context.broker_id, group_id)
    if error_code is not ErrorCode.NONE:
        return _GroupResponse(version=version, group_id=group_id, error_code=error_code)
    group = cluster.groups.describe(group_id)
    if group is None:
        is_error = version >= MISSING_GROUP_VERSION_MIN
        return _GroupResponse(
            version=version,
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND if is_error else ErrorCode.NONE,
            error_message=_missing_message(group_id, cluster) if is_error else None,
            group_state=GroupState.DEAD.value,
        )
    return _GroupResponse(
        version=version,
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol_name,
        members=[_describe_member(member, version) for member in paced(group.members)],
    )


def _missing_message(group_id: str, cluster: Cluster) -> str:
    if group_id in cluster.groups.table or group_id in cluster.share.groups:
        return f"Group {group_id} is not a classic group."
    return f"Group {group_id} not found."


def _describe_member(member: DescribedMember, version: int) -> _GroupResponse.DescribedGroupMember:
    return _GroupResponse.DescribedGroupMember(
        version=version,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata,
        member_assignment=member.assignment,
    )
