"""LeaveGroup: v0-5.

Behaviour:
    - Removes one member, from v3 several, each with its own result. The group rebalances once.
    - A member with an instance id and no member id removes the current member of that instance
      (KIP-345).
    - For a group that does not exist each member gets UNKNOWN_MEMBER_ID. Before v3 the member's
      error is the error of the response.
    - Errors: GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
      NOT_COORDINATOR.

Gaps:
    - The reason field is accepted and not used; Kafka writes it to its log.
"""

from broker.authorization.checks import READ_GROUP
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.groups.requests import MemberIdentity
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

BATCH_VERSION_MIN = 3


@handles(ApiKey.LEAVE_GROUP, checks=(READ_GROUP,))
@may_pause
def handle_leave_group(
    context: RequestContext, request: "messages.LeaveGroupRequest", cluster: Cluster
) -> "messages.LeaveGroupResponse":
    """Kafka's `KafkaApis.handleLeaveGroupRequest`."""
    version = context.api_version
    if not is_allowed(context, cluster, READ_GROUP, request.group_id):
        return messages.LeaveGroupResponse(version=version, error_code=READ_GROUP.error_code)
    is_batch = version >= BATCH_VERSION_MIN
    leavers = (
        [
            MemberIdentity(member.member_id, member.group_instance_id)
            for member in paced(request.members)
        ]
        if is_batch
        else [MemberIdentity(request.member_id)]
    )
    error_code = ownership_error(cluster, context.broker_id, request.group_id)
    if error_code is not ErrorCode.NONE:
        return messages.LeaveGroupResponse(version=version, error_code=error_code)
    error_code, left = cluster.groups.leave(request.group_id, leavers, context.now_ms)
    if not is_batch:
        (error_code,) = [member.error_code for member in left] or [error_code]
        return messages.LeaveGroupResponse(version=version, error_code=error_code)
    return messages.LeaveGroupResponse(
        version=version,
        error_code=error_code,
        members=[
            messages.LeaveGroupResponse.MemberResponse(
                version=version,
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=member.error_code,
            )
            for member in left
        ],
    )
