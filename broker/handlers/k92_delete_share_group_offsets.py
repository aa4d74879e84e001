"""DeleteShareGroupOffsets: v0.

Behaviour:
    - Deletes the state of topics in a share group without members, which then starts again at
      share.auto.offset.reset. A group that never had any state has no results.
    - Errors of the request: UNSUPPORTED_VERSION unless the feature share.version is 1,
      GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
      NON_EMPTY_GROUP. Each topic has its own: TOPIC_AUTHORIZATION_FAILED (the client may not read
      it; before all others), UNKNOWN_TOPIC_OR_PARTITION (also without a state),
      COORDINATOR_NOT_AVAILABLE (after all others).
    - Without topics the group is not looked at before Kafka 4.2.
"""

from operator import attrgetter
from uuid import UUID

from broker.administration.share_offsets import delete_offsets, group_to_change
from broker.authorization.checks import DELETE_GROUP, READ_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.share_loading import are_share_groups_enabled
from broker.config.api_versions import release_of
from broker.errors import UNKNOWN_PARTITION, Refusal
from broker.request.authorization import is_allowed, partition_by_authorized
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, uuid_hash
from protocol.pacing import may_pause, no_pause, paced
from protocol.releases import Release

GROUP_COUNTS_SINCE: Release = (4, 2)
"""First release that looks at the group of a request without topics."""

_Response = messages.DeleteShareGroupOffsetsResponse
_Topic = _Response.DeleteShareGroupOffsetsResponseTopic
_NO_TOPIC_ID = UUID(int=0)


@handles(ApiKey.DELETE_SHARE_GROUP_OFFSETS, checks=(DELETE_GROUP, READ_TOPIC))
@may_pause
def handle_delete_share_group_offsets(
    context: RequestContext, request: "messages.DeleteShareGroupOffsetsRequest", cluster: Cluster
) -> "messages.DeleteShareGroupOffsetsResponse":
    """Kafka's `KafkaApis.handleDeleteShareGroupOffsetsRequest`."""
    denial = DELETE_GROUP.refusal
    is_enabled = are_share_groups_enabled(cluster)
    if is_enabled and not is_allowed(context, cluster, DELETE_GROUP, request.group_id):
        return _Response(error_code=denial.error_code, error_message=denial.error_message)
    release = release_of(cluster.config.for_broker(context.broker_id))
    if release < GROUP_COUNTS_SINCE and not request.topics and is_enabled:
        return _Response(responses=[])
    group = group_to_change(context, cluster, request.group_id)
    if isinstance(group, Refusal):
        return _Response(error_code=group.error_code, error_message=group.error_message)
    allowed, denied = partition_by_authorized(
        context, cluster, READ_TOPIC, request.topics, attrgetter("topic_name")
    )
    denial = READ_TOPIC.refusal
    refused = [_result(topic.topic_name, _NO_TOPIC_ID, denial) for topic in paced(denied)]
    if not group.has_state_partitions:
        return _Response(responses=refused)
    results = [
        _delete(context, cluster, request.group_id, entry.topic_name) for entry in paced(allowed)
    ]
    succeeded = {
        result.topic_id: result for result in results if result.topic_id and not result.error_code
    }
    return _Response(
        responses=refused
        + [succeeded[topic_id] for topic_id in in_hash_order(succeeded, uuid_hash)]
        + [result for result in results if result.error_code]
    )


def _delete(context: RequestContext, cluster: Cluster, group_id: str, topic_name: str) -> _Topic:
    topic = cluster.topics.get(topic_name)
    refusal: Refusal | None = UNKNOWN_PARTITION
    if topic is not None:
        with no_pause():
            # Members may have joined, or the group may have been deleted, during a pause.
            group = group_to_change(context, cluster, group_id)
            if isinstance(group, Refusal):
                refusal = group
            else:
                refusal = delete_offsets(cluster, group, topic.topic_id, context.now_ms)
    topic_id = topic.topic_id if topic is not None and refusal is None else _NO_TOPIC_ID
    return _result(topic_name, topic_id, refusal)


def _result(topic_name: str, topic_id: UUID, refusal: Refusal | None) -> _Topic:
    return _Topic(
        topic_name=topic_name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
        error_message=None if refusal is None else refusal.error_message,
    )
