"""ShareAcknowledge: v1-2.

Behaviour:
    - Accepts, releases or rejects records that a member of a share group has acquired. A released
      record is delivered again, unless it had its last delivery. Each partition succeeds or fails
      alone, and then nothing of it has changed but locks that were renewed. Of a partition that is
      named twice the last entry counts, and one without acknowledgements is listed only beside
      others with valid ones.
    - With is_renew_ack (v2) acknowledge type 4 lets the locks of records begin again (KIP-1222).
    - GROUP_AUTHORIZATION_FAILED for a client that may not read the group. With an authorizer an
      unknown topic id gets UNKNOWN_SERVER_ERROR for the request.
    - Errors of a partition: TOPIC_AUTHORIZATION_FAILED, INVALID_RECORD_STATE (the member has not
      acquired the records, or the group renews no locks), INVALID_REQUEST, UNKNOWN_TOPIC_ID,
      UNKNOWN_TOPIC_OR_PARTITION (also if nothing of it was fetched from this broker),
      NOT_LEADER_OR_FOLLOWER, COORDINATOR_NOT_AVAILABLE.
    - Errors of the session: SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH. Epoch -1 closes
      the session and releases what the member has still acquired.
    - UNSUPPORTED_VERSION unless the feature share.version is 1.
"""

from typing import TYPE_CHECKING

from broker.authorization.checks import READ_GROUP, READ_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.share_loading import are_share_groups_enabled
from broker.config.api_versions import release_of
from broker.errors import Refusal
from broker.fetch.share_acknowledge import (
    RECORD_LOCK_DURATION_KEY,
    acknowledge_topics,
    denied_topics,
    request_error,
)
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from broker.share_groups.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_TOPIC_ID,
    ShareSession,
    ShareSessionKey,
    not_found,
)
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause

if TYPE_CHECKING:
    from uuid import UUID

_Response = messages.ShareAcknowledgeResponse
_TopicResponse = _Response.ShareAcknowledgeTopicResponse
_PartitionData = _TopicResponse.PartitionData


@handles(ApiKey.SHARE_ACKNOWLEDGE, checks=(READ_GROUP, READ_TOPIC))
@may_pause
def handle_share_acknowledge(
    context: RequestContext, request: "messages.ShareAcknowledgeRequest", cluster: Cluster
) -> "messages.ShareAcknowledgeResponse":
    """Kafka's `KafkaApis.handleShareAcknowledgeRequest`."""
    if not are_share_groups_enabled(cluster):
        return _error(ErrorCode.UNSUPPORTED_VERSION)
    group_id = request.group_id
    if group_id is not None and not is_allowed(context, cluster, READ_GROUP, group_id):
        return _error(READ_GROUP.error_code)
    release = release_of(cluster.config.for_broker(context.broker_id))
    error_code = request_error(release, request.group_id, request.member_id)
    if error_code is not ErrorCode.NONE:
        return _error(error_code)
    key = ShareSessionKey(request.group_id or "", request.member_id or "")
    session = _resume_session(context, key, request.share_session_epoch, cluster)
    if isinstance(session, Refusal):
        return _error(session.error_code)
    topic_ids = (topic.topic_id or NO_TOPIC_ID for topic in request.topics if topic.partitions)
    denied = denied_topics(context, cluster, topic_ids)
    if denied is None:
        return _error(ErrorCode.UNKNOWN_SERVER_ERROR)
    result = acknowledge_topics(
        cluster,
        context.broker_id,
        key.group_id,
        key.member_id,
        request.topics,
        context.now_ms,
        may_renew=request.is_renew_ack,
        denied=denied,
    )
    if request.share_session_epoch == FINAL_EPOCH:
        cluster.share.leaders[context.broker_id].close_session(session, context.now_ms)
    topics: dict[UUID, list[_PartitionData]] = {}
    for (topic_id, index), refusal in result.items():
        topics.setdefault(topic_id, []).append(_entry(index, refusal))
    return _Response(
        acquisition_lock_timeout_ms=cluster.share.setting(key.group_id, RECORD_LOCK_DURATION_KEY),
        responses=[
            _TopicResponse(topic_id=topic_id, partitions=entries)
            for topic_id, entries in topics.items()
        ],
        node_endpoints=[],
    )


def _resume_session(
    context: RequestContext, key: ShareSessionKey, epoch: int, cluster: Cluster
) -> ShareSession | Refusal:
    sessions = cluster.share.leaders[context.broker_id].sessions
    if epoch == INITIAL_EPOCH:
        return Refusal(ErrorCode.INVALID_SHARE_SESSION_EPOCH, None)
    if epoch == FINAL_EPOCH:
        return sessions.get(key) or not_found()
    return sessions.resume(key, epoch)


def _entry(partition_index: int, refusal: Refusal | None) -> _PartitionData:
    return _PartitionData(
        partition_index=partition_index,
        error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
        error_message=None if refusal is None else refusal.error_message,
        current_leader=_PartitionData.LeaderIdAndEpoch(),
    )


def _error(error_code: ErrorCode) -> _Response:
    return _Response(error_code=error_code, responses=[], node_endpoints=[])
