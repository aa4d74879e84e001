"""OffsetCommit: v2-10.

Behaviour:
    - Stores offsets for members of the current generation. With generation -1 it stores them for
      consumers without a group, while the group has no members, and creates the group if needed.
    - The response begins with the topics and partitions that do not exist. A known topic without
      partitions is left out.
    - A member's commit also keeps its session alive. From v10 topics are named by id.
    - Errors of a partition: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v10),
      TOPIC_AUTHORIZATION_FAILED (with those that do not exist), OFFSET_METADATA_TOO_LARGE
      (offset.metadata.max.bytes).
    - Errors of all partitions: GROUP_AUTHORIZATION_FAILED, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
      ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS (before the group is stable), NOT_COORDINATOR. From
      v9 a generation of a group that does not exist gets GROUP_ID_NOT_FOUND, before v9
      ILLEGAL_GENERATION. A share group gets GROUP_ID_NOT_FOUND in every version.
    - A member of the consumer protocol sends its epoch (v9+) as the generation. If it is not the
      current one: STALE_MEMBER_EPOCH; before v9 UNSUPPORTED_VERSION.
    - So does a member of a streams group. It may commit with an older epoch for a task that it has
      had since then. From Kafka 4.3 on (broker.api.versions) a member of a consumer group may do so
      for a partition, one of the classic protocol with its generation.
    - An offset is a record in the group's partition of `__consumer_offsets`. If its ISR has fewer
      members than min.insync.replicas: COORDINATOR_NOT_AVAILABLE; if the commit is larger than its
      max.message.bytes: UNKNOWN_SERVER_ERROR.
    - The retention time of v2-4 is used; otherwise offsets.retention.minutes applies.
"""

from collections.abc import Iterable
from functools import partial
from uuid import UUID

from broker.authorization.checks import READ_GROUP, READ_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.groups.requests import new_commit
from broker.offset_commit.requested_offsets import (
    PartitionErrors,
    refused_topics,
    requested_offsets,
    response_topics,
)
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.offset_commit import (
    MISSING_GROUP_VERSION_MIN,
    TOPIC_ID_VERSION_MIN,
    ShortOffsetCommit,
    encode_response,
    read_offset_commit,
)
from protocol.pacing import may_pause, paced

_TopicResponse = messages.OffsetCommitResponse.OffsetCommitResponseTopic
_PartitionResponse = _TopicResponse.OffsetCommitResponsePartition


@handles(ApiKey.OFFSET_COMMIT, read_short=read_offset_commit, checks=(READ_GROUP, READ_TOPIC))
@may_pause
def handle_offset_commit(
    context: RequestContext,
    request: "messages.OffsetCommitRequest | ShortOffsetCommit",
    cluster: Cluster,
) -> "messages.OffsetCommitResponse | bytes":
    """Kafka's `KafkaApis.handleOffsetCommitRequest`."""
    version, group_id = context.api_version, request.group_id
    uses_topic_ids = version >= TOPIC_ID_VERSION_MIN
    if cluster.authorizer is not None and not is_allowed(context, cluster, READ_GROUP, group_id):
        code = READ_GROUP.error_code
        return _response(
            version, refused_topics(request.topics, code, uses_topic_ids=uses_topic_ids)
        )
    requested = requested_offsets(context, cluster, request.topics, uses_topic_ids=uses_topic_ids)
    error_codes: tuple[ErrorCode, ...] = ()
    if requested.offsets:
        # fmt: off
        commit = new_commit((
            group_id, requested.offsets, request.generation_id_or_member_epoch, request.member_id,
            request.group_instance_id, request.retention_time_ms,
            version >= MISSING_GROUP_VERSION_MIN,
        ))
        # fmt: on
        error_codes = cluster.groups.table.commit(
            commit, context.now_ms, partial(ownership_error, cluster, context.broker_id, group_id)
        )
    topics = response_topics(requested, error_codes)
    if type(request) is ShortOffsetCommit:
        body = encode_response(version, topics)
        if body is not None:
            return body
    return _response(version, topics)


@may_pause
def _response(
    version: int, topics: Iterable[tuple[str | UUID, PartitionErrors]]
) -> "messages.OffsetCommitResponse":
    topic_responses = []
    for key, errors in paced(topics):
        partitions = [
            _PartitionResponse(version=version, partition_index=index, error_code=error_code)
            for index, error_code in paced(errors)
        ]
        topic_response = _TopicResponse(version=version, partitions=partitions)
        if isinstance(key, UUID):
            topic_response.topic_id = key
        else:
            topic_response.name = key
        topic_responses.append(topic_response)
    return messages.OffsetCommitResponse(version=version, topics=topic_responses)
