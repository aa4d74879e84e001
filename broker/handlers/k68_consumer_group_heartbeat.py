"""ConsumerGroupHeartbeat: v0-1.

Behaviour:
    - A member joins with epoch 0, then reports with its current epoch, and leaves with -1, or -2 if
      it is static and will be back (KIP-848). The response has the epoch, the heartbeat interval of
      the group, and the assignment when that has changed, or the request has every field. A member
      that joins again while it has another epoch: FENCED_MEMBER_EPOCH before Kafka 4.2
      (broker.api.versions), then it gets what it has.
    - The broker computes the target assignment, with the assignor that most members ask for. A
      member gets a partition once its last owner no longer reports it, or is gone.
    - From Kafka 4.3 on assignments are computed once in the group's consumer.assignment.interval.ms
      (KIP-1263); its default is 0 here.
    - Members subscribe to topics by name, or by an RE2 expression (v1+). The broker resolves it
      after the request, so its topics are in the response to the next heartbeat. They are those
      that the client of this request may describe, for all members with the expression.
    - From v1 members choose their id. In v0 the broker gives one to a member without, in the form
      of Kafka's `Uuid`.
    - A member without a heartbeat for consumer.session.timeout.ms (of the group, or the broker's
      group.consumer.session.timeout.ms) is removed, and one that does not give up partitions within
      its rebalance timeout.
    - The first member of the consumer protocol upgrades a group of consumers of the classic
      protocol, which stay its members and join again. When the last one has left, the group is
      downgraded (group.consumer.migration.policy).
    - Errors: GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED (a subscribed topic that the
      client may not describe), INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, INVALID_REGULAR_EXPRESSION,
      GROUP_MAX_SIZE_REACHED (group.consumer.max.size), GROUP_ID_NOT_FOUND (also for a group of
      another type), UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID,
      FENCED_INSTANCE_ID, NOT_COORDINATOR. UNSUPPORTED_VERSION while group.version is 0, or
      group.coordinator.rebalance.protocols lacks consumer.
"""

from collections.abc import Callable
from uuid import UUID

from broker.authorization.checks import DESCRIBE_TOPIC, DESCRIBE_TOPIC_UNLISTED, READ_GROUP
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import has_consumer_protocol, ownership_error
from broker.groups.consumer.assignment import Assignment, merged_topics
from broker.groups.consumer.requests import ConsumerHeartbeat, HeartbeatResult
from broker.request.authorization import denied_names, is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.consumer_heartbeat import encode_unchanged, read_unchanged
from protocol.errors import ErrorCode
from protocol.pacing import may_pause

MEMBER_ID_VERSION_MIN = 1
_NO_TOPIC_ID = UUID(int=0)

_Response = messages.ConsumerGroupHeartbeatResponse
_Assignment = _Response.Assignment


def keep_session(
    context: RequestContext, frame: bytes | bytearray, start: int, end: int, cluster: Cluster
) -> bytes | None:
    """Respond to a heartbeat that changes nothing, or return None for any other one."""
    heartbeat = read_unchanged(context.api_version, frame, start, end)
    if (
        heartbeat is None
        or not has_consumer_protocol(cluster)
        or (
            cluster.authorizer is not None
            and not is_allowed(context, cluster, READ_GROUP, heartbeat.group_id, is_noted=False)
        )
        or ownership_error(cluster, context.broker_id, heartbeat.group_id) is not ErrorCode.NONE
    ):
        return None
    interval_ms = cluster.groups.keep_consumer_session(
        heartbeat, context.client_id or "", f"/{context.client_host}", context.now_ms
    )
    if interval_ms is None:
        return None
    return encode_unchanged(heartbeat, heartbeat.member_epoch, interval_ms)


@handles(
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    shortcut=keep_session,
    checks=(READ_GROUP, DESCRIBE_TOPIC, DESCRIBE_TOPIC_UNLISTED),
)
@may_pause
def handle_consumer_group_heartbeat(
    context: RequestContext, request: "messages.ConsumerGroupHeartbeatRequest", cluster: Cluster
) -> "messages.ConsumerGroupHeartbeatResponse":
    """Kafka's `KafkaApis.handleConsumerGroupHeartbeat`."""
    version = context.api_version
    if not has_consumer_protocol(cluster):
        return _Response(version=version, error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not is_allowed(context, cluster, READ_GROUP, request.group_id):
        return _Response(version=version, error_code=READ_GROUP.error_code)
    if denied_names(context, cluster, DESCRIBE_TOPIC, request.subscribed_topic_names or ()):
        return _Response(version=version, error_code=DESCRIBE_TOPIC.error_code)
    error_code = ownership_error(cluster, context.broker_id, request.group_id)
    if error_code is not ErrorCode.NONE:
        return _Response(version=version, error_code=error_code)
    if request.group_id in cluster.share.groups:
        return _Response(
            version=version,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {request.group_id} is not a consumer group.",
        )
    partitions = request.topic_partitions
    result = cluster.groups.consumer_heartbeat(
        ConsumerHeartbeat(
            group_id=request.group_id,
            member_id=request.member_id,
            member_epoch=request.member_epoch,
            group_instance_id=request.instance_id,
            rack_id=request.rack_id,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            subscribed_topic_names=request.subscribed_topic_names,
            subscribed_topic_regex=request.subscribed_topic_regex,
            server_assignor=request.server_assignor,
            owned_partitions=(
                None
                if partitions is None
                else merged_topics(
                    (owned.topic_id or _NO_TOPIC_ID, owned.partitions) for owned in partitions
                )
            ),
            client_id=context.client_id or "",
            client_host=f"/{context.client_host}",  # as Java prints an address
            must_have_id=version >= MEMBER_ID_VERSION_MIN,
            may_describe=_topic_filter(context, cluster),
        ),
        context.now_ms,
    )
    return _response(result, version)


def _topic_filter(context: RequestContext, cluster: Cluster) -> Callable[[str], bool] | None:
    """Return which topics an expression of the client matches, by name; None for all of them."""
    if cluster.authorizer is None:
        return None
    return lambda name: is_allowed(context, cluster, DESCRIBE_TOPIC_UNLISTED, name, is_noted=False)


def _response(result: HeartbeatResult, version: int) -> _Response:
    assignment = result.assignment
    return _Response(
        version=version,
        error_code=result.error_code,
        error_message=result.error_message,
        member_id=result.member_id,
        member_epoch=result.member_epoch,
        heartbeat_interval_ms=result.heartbeat_interval_ms,
        assignment=None if assignment is None else _encoded(assignment, version),
    )


def _encoded(assignment: Assignment, version: int) -> _Assignment:
    return _Assignment(
        version=version,
        topic_partitions=[
            _Assignment.TopicPartitions(
                version=version, topic_id=topic_id, partitions=sorted(indexes)
            )
            for topic_id, indexes in assignment.items()
        ],
    )
