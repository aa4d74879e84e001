"""SyncGroup: v0-5.

Behaviour:
    - In a group of the consumer protocol the response has what the broker assigned.
    - The leader sends the assignment of all members; the responses of the other members wait for
      it. A member without an assignment gets an empty one.
    - Members that do not sync within the rebalance timeout are removed, and the group rebalances.
    - From v5 a protocol type or name that differs from the group's gets INCONSISTENT_GROUP_PROTOCOL
      (KIP-559).
    - Errors: GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID, UNKNOWN_MEMBER_ID (also for a group that
      does not exist), FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS,
      NOT_COORDINATOR.
"""

from broker.authorization.checks import READ_GROUP
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.groups.requests import SyncRequest
from broker.groups.results import SyncResult
from broker.pending_response import PendingResponse
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause

PROTOCOL_VERSION_MIN = 5
"""Since then a request must name the type and the protocol of the group (KIP-559)."""


@handles(ApiKey.SYNC_GROUP, checks=(READ_GROUP,))
@may_pause
def handle_sync_group(
    context: RequestContext, request: "messages.SyncGroupRequest", cluster: Cluster
) -> "messages.SyncGroupResponse | PendingResponse":
    """Kafka's `KafkaApis.handleSyncGroupRequest`."""
    version = context.api_version
    if version >= PROTOCOL_VERSION_MIN and None in (request.protocol_type, request.protocol_name):
        return _response(SyncResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL), version)
    if not is_allowed(context, cluster, READ_GROUP, request.group_id):
        return _response(SyncResult(READ_GROUP.error_code), version)
    error_code = ownership_error(cluster, context.broker_id, request.group_id)
    if error_code is not ErrorCode.NONE:
        return _response(SyncResult(error_code), version)
    pending = PendingResponse()
    cluster.groups.sync(
        SyncRequest(
            group_id=request.group_id,
            member_id=request.member_id,
            generation_id=request.generation_id,
            group_instance_id=request.group_instance_id,
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignments={
                assignment.member_id: bytes(assignment.assignment)
                for assignment in request.assignments
            },
        ),
        # A member's response must not hurt the others of the group.
        lambda result: pending.attempt(lambda: pending.complete(_response(result, version))),
        context.now_ms,
    )
    return pending


def _response(result: SyncResult, version: int) -> "messages.SyncGroupResponse":
    return messages.SyncGroupResponse(
        version=version,
        error_code=result.error_code,
        protocol_type=result.protocol_type,
        protocol_name=result.protocol_name,
        assignment=result.assignment,
    )
