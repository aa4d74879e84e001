"""ShareGroupHeartbeat: v1.

Behaviour:
    - Joins a share group (epoch 0), keeps the session of a member, leaves (epoch -1). The
      coordinator assigns partitions with Kafka's simple assignor: every partition has a member, and
      members may share one. A member that joins again while it has another epoch:
      FENCED_MEMBER_EPOCH before Kafka 4.2 (broker.api.versions), then it gets what it has.
    - The state of a new partition is created after the heartbeat that subscribes to it. The next
      heartbeat of a member assigns it.
    - From Kafka 4.3 on assignments are computed once in the group's share.assignment.interval.ms
      (KIP-1263); its default is 0 here.
    - UNSUPPORTED_VERSION unless the feature share.version is 1.
    - Errors: GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED (a subscribed topic that the
      client may not describe), INVALID_REQUEST, GROUP_ID_NOT_FOUND (also for a group of another
      type), UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED, NOT_COORDINATOR.
    - Session timeout and heartbeat interval are the group's share.session.timeout.ms and
      share.heartbeat.interval.ms.
"""

from broker.authorization.checks import DESCRIBE_TOPIC, READ_GROUP
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic, ownership_error
from broker.cluster.internal_topics import SHARE_GROUP_STATE
from broker.cluster.share_loading import are_share_groups_enabled
from broker.config.api_versions import release_of
from broker.errors import NOT_COORDINATOR_MESSAGE, Refusal
from broker.fetch.share_acknowledge import MEMBER_IDS_ARE_FREE_SINCE, is_member_id
from broker.groups.consumer.assignment import Assignment
from broker.request.authorization import denied_names, is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from broker.share_groups.coordinator import request_problem
from broker.share_groups.member import ShareHeartbeat
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause

_Response = messages.ShareGroupHeartbeatResponse
_Assignment = _Response.Assignment


@handles(ApiKey.SHARE_GROUP_HEARTBEAT, checks=(READ_GROUP, DESCRIBE_TOPIC))
@may_pause
def handle_share_group_heartbeat(
    context: RequestContext, request: "messages.ShareGroupHeartbeatRequest", cluster: Cluster
) -> "messages.ShareGroupHeartbeatResponse":
    """Kafka's `KafkaApis.handleShareGroupHeartbeat`."""
    if not are_share_groups_enabled(cluster):
        return _Response(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not is_allowed(context, cluster, READ_GROUP, request.group_id):
        return _Response(error_code=READ_GROUP.error_code)
    release = release_of(cluster.config.for_broker(context.broker_id))
    if release >= MEMBER_IDS_ARE_FREE_SINCE and not is_member_id(request.member_id):
        return _Response(error_code=ErrorCode.INVALID_REQUEST)
    names = request.subscribed_topic_names
    if denied_names(context, cluster, DESCRIBE_TOPIC, names or ()):
        return _Response(error_code=DESCRIBE_TOPIC.error_code)
    heartbeat = ShareHeartbeat(
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",
        rack_id=request.rack_id,
        subscribed_topic_names=None if names is None else tuple(names),
    )
    problem = request_problem(heartbeat)
    if problem is not None:
        return _Response(error_code=problem.error_code, error_message=problem.error_message)
    error_code = ownership_error(cluster, context.broker_id, request.group_id)
    if error_code is not ErrorCode.NONE:
        return _Response(error_code=error_code, error_message=NOT_COORDINATOR_MESSAGE)
    # The state of the partitions that the member subscribes to goes there.
    ensure_internal_topic(cluster, SHARE_GROUP_STATE)
    result = cluster.share.groups.heartbeat(heartbeat, context.now_ms)
    if isinstance(result, Refusal):
        return _Response(error_code=result.error_code, error_message=result.error_message)
    return _Response(
        member_id=result.member_id,
        member_epoch=result.member_epoch,
        heartbeat_interval_ms=result.heartbeat_interval_ms,
        assignment=None if result.assignment is None else _assignment(result.assignment),
    )


def _assignment(assignment: Assignment) -> _Assignment:
    return _Assignment(
        topic_partitions=[
            _Assignment.TopicPartitions(topic_id=topic_id, partitions=sorted(indexes))
            for topic_id, indexes in assignment.items()
        ]
    )
