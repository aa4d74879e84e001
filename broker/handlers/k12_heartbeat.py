"""Heartbeat: v0-4.

Behaviour:
    - Keeps the session of a member alive. REBALANCE_IN_PROGRESS asks the member to join again.
    - In a group of the consumer protocol it does so when the member has to revoke partitions, or
      may get some.
    - Errors: GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID, UNKNOWN_MEMBER_ID (also for a group that
      does not exist), FENCED_INSTANCE_ID, ILLEGAL_GENERATION, NOT_COORDINATOR.
"""

from broker.authorization.checks import READ_GROUP
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.heartbeat import ShortHeartbeat, encode_response, read_heartbeat


@handles(ApiKey.HEARTBEAT, read_short=read_heartbeat, checks=(READ_GROUP,))
def handle_heartbeat(
    context: RequestContext, request: "messages.HeartbeatRequest | ShortHeartbeat", cluster: Cluster
) -> bytes:
    """Kafka's `KafkaApis.handleHeartbeatRequest`; the response is the encoded body."""
    if cluster.authorizer is not None and not is_allowed(
        context, cluster, READ_GROUP, request.group_id
    ):
        return encode_response(context.api_version, READ_GROUP.error_code)
    error_code = ownership_error(cluster, context.broker_id, request.group_id)
    if error_code is ErrorCode.NONE:
        error_code = cluster.groups.heartbeat(
            request.group_id,
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            context.now_ms,
        )
    return encode_response(context.api_version, error_code)
