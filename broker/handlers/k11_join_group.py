"""JoinGroup: v0-9.

Behaviour:
    - The response is sent when the rebalance completes: every member has joined, or the rebalance
      timeout (in v0 the session timeout) has passed. The leader gets all members with metadata.
    - From v4 a dynamic member without an id gets MEMBER_ID_REQUIRED and an id (KIP-394). The id is
      reserved for the session timeout.
    - A static member without an id replaces the earlier member with its instance id, which is
      fenced with FENCED_INSTANCE_ID. A stable group whose protocol stays the same does not
      rebalance then; from v9 the response lets a leader skip the assignment.
    - In a group of the consumer protocol (KIP-848) that has members the broker assigns the
      partitions. The response is sent at once and names no leader. A group without members becomes
      a classic one.
    - Errors: GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT
      (group.min/max.session.timeout.ms), GROUP_MAX_SIZE_REACHED (group.max.size),
      INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID, NOT_COORDINATOR. A share group gets
      INCONSISTENT_GROUP_PROTOCOL.
    - A client that disconnects while it waits stays a member until its session expires.

Gaps:
    - More than 1,000 protocols get INVALID_REQUEST, and a subscription of more than 100,000 topics
      counts as one to all topics: so much costs other clients too much time.
    - The reason field is accepted and not used; Kafka writes it to its log.
"""

from collections.abc import Mapping

from broker.authorization.checks import READ_GROUP
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.groups.group import CONSUMER_PROTOCOL_TYPE
from broker.groups.requests import JoinRequest, Subscriptions
from broker.groups.results import JoinResult
from broker.pending_response import PendingResponse
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.consumer_protocol import subscribed_topics
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced_elements

REBALANCE_TIMEOUT_VERSION_MIN = 1
KNOWN_ID_VERSION_MIN = 4
NULLABLE_PROTOCOL_VERSION_MIN = 7
SKIP_ASSIGNMENT_VERSION_MIN = 9
PROTOCOLS_MAX = 1000
"""Most protocols of a member: a rebalance compares those of all members in one go."""
LONG_METADATA_BYTES = 16 * 1024


@handles(ApiKey.JOIN_GROUP, checks=(READ_GROUP,))
@may_pause
def handle_join_group(
    context: RequestContext, request: "messages.JoinGroupRequest", cluster: Cluster
) -> "messages.JoinGroupResponse | PendingResponse":
    """Kafka's `KafkaApis.handleJoinGroupRequest`."""
    version = context.api_version
    if not is_allowed(context, cluster, READ_GROUP, request.group_id):
        return _response(JoinResult(READ_GROUP.error_code, member_id=""), version)
    has_rebalance_timeout = version >= REBALANCE_TIMEOUT_VERSION_MIN
    protocols = {
        protocol.name: bytes(protocol.metadata) for protocol in paced_elements(request.protocols)
    }
    if len(protocols) > PROTOCOLS_MAX:
        return _response(JoinResult(ErrorCode.INVALID_REQUEST, request.member_id), version)
    subscriptions = _long_subscriptions(request.protocol_type, protocols)
    # No pause from here on: another coordinator may have the group after one.
    error_code = ownership_error(cluster, context.broker_id, request.group_id)
    if error_code is not ErrorCode.NONE:
        return _response(JoinResult(error_code, request.member_id), version)
    pending = PendingResponse()
    cluster.groups.join(
        JoinRequest(
            group_id=request.group_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            client_id=context.client_id or "",
            client_host=f"/{context.client_host}",  # as Java prints an address
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=(
                request.rebalance_timeout_ms
                if has_rebalance_timeout
                else request.session_timeout_ms
            ),
            protocol_type=request.protocol_type,
            protocols=protocols,
            must_know_id=version >= KNOWN_ID_VERSION_MIN,
            can_skip_assignment=version >= SKIP_ASSIGNMENT_VERSION_MIN,
            subscriptions=subscriptions,
        ),
        # A member's response must not hurt the others of the group.
        lambda result: pending.attempt(lambda: pending.complete(_response(result, version))),
        context.now_ms,
    )
    return pending


@may_pause
def _long_subscriptions(protocol_type: str, protocols: Mapping[str, bytes]) -> Subscriptions:
    """Read long metadata now, with pauses: a rebalance reads all that is left without one."""
    if protocol_type != CONSUMER_PROTOCOL_TYPE:
        return {}
    return {
        name: subscribed_topics(metadata, is_paced=True)
        for name, metadata in protocols.items()
        if len(metadata) > LONG_METADATA_BYTES
    }


def _response(result: JoinResult, version: int) -> "messages.JoinGroupResponse":
    protocol_name = result.protocol_name
    if protocol_name is None and version < NULLABLE_PROTOCOL_VERSION_MIN:
        protocol_name = ""
    return messages.JoinGroupResponse(
        version=version,
        error_code=result.error_code,
        generation_id=result.generation_id,
        protocol_type=result.protocol_type,
        protocol_name=protocol_name,
        leader=result.leader_id,
        skip_assignment=result.skip_assignment,
        member_id=result.member_id,
        members=[
            messages.JoinGroupResponse.JoinGroupResponseMember(
                version=version,
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata,
            )
            for member in result.members
        ],
    )
