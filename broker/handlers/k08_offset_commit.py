"""OffsetCommit: v2-10.

Behaviour:
    - Stores offsets for members of the current generation. With generation -1 it stores them for
      consumers without a group, while the group has no members, and creates the group if needed.
    - A member's commit also keeps its session alive. From v10 topics are named by id.
    - Errors of a partition: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v10),
      OFFSET_METADATA_TOO_LARGE (offset.metadata.max.bytes).
    - Errors of all partitions: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
      REBALANCE_IN_PROGRESS (before the group is stable), NOT_COORDINATOR. From v9 a generation of a
      group that does not exist gets GROUP_ID_NOT_FOUND, before v9 ILLEGAL_GENERATION.
    - A member of the consumer protocol sends its epoch (v9+) as the generation. If it is not the
      current one: STALE_MEMBER_EPOCH; before v9 UNSUPPORTED_VERSION.
    - An offset is a record in the group's partition of `__consumer_offsets`. If its ISR has fewer
      members than min.insync.replicas: COORDINATOR_NOT_AVAILABLE; if the commit is larger than its
      max.message.bytes: UNKNOWN_SERVER_ERROR.
    - The retention time of v2-4 is used; otherwise offsets.retention.minutes applies.
"""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.cluster.topics import Topic
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

MISSING_GROUP_VERSION_MIN = 9
TOPIC_ID_VERSION_MIN = 10

_TopicResponse = messages.OffsetCommitResponse.OffsetCommitResponseTopic
_PartitionResponse = _TopicResponse.OffsetCommitResponsePartition


@handles(ApiKey.OFFSET_COMMIT, versions=(2, 10))
def handle_offset_commit(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `KafkaApis.handleOffsetCommitRequest`."""
    version = context.api_version
    topics = [(requested, _find_topic(cluster, requested, version)) for requested in request.topics]
    offsets = tuple(
        OffsetToCommit(
            topic_name=topic.name,
            partition_index=partition.partition_index,
            offset=partition.committed_offset,
            leader_epoch=partition.committed_leader_epoch,
            metadata=partition.committed_metadata,
            topic_id=topic.topic_id if version >= TOPIC_ID_VERSION_MIN else None,
        )
        for requested, topic in topics
        if topic is not None
        for partition in requested.partitions
        if _has_partition(topic, partition.partition_index)
    )
    # One error code for each of `offsets`, taken below in the same order.
    error_codes = iter(_commit(context, request, offsets, cluster))
    return messages.OffsetCommitResponse(
        version=version,
        topics=[
            _TopicResponse(
                version=version,
                name=requested.name,
                topic_id=requested.topic_id,
                partitions=[
                    _PartitionResponse(
                        version=version,
                        partition_index=partition.partition_index,
                        error_code=(
                            _missing_error(topic, version)
                            if topic is None or not _has_partition(topic, partition.partition_index)
                            else next(error_codes)
                        ),
                    )
                    for partition in requested.partitions
                ],
            )
            for requested, topic in topics
        ],
    )


def _commit(
    context: RequestContext, request: Any, offsets: tuple[OffsetToCommit, ...], cluster: Cluster
) -> tuple[ErrorCode, ...]:
    if not offsets:
        return ()
    error_code = ownership_error(cluster, context.broker_id, request.group_id)
    if error_code is not ErrorCode.NONE:
        return (error_code,) * len(offsets)
    return cluster.groups.commit(
        CommitRequest(
            group_id=request.group_id,
            offsets=offsets,
            generation_id=request.generation_id_or_member_epoch,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            retention_ms=request.retention_time_ms,
            knows_missing_groups=context.api_version >= MISSING_GROUP_VERSION_MIN,
        ),
        context.now_ms,
    )


def _find_topic(cluster: Cluster, requested: Any, version: int) -> Topic | None:
    if version >= TOPIC_ID_VERSION_MIN:
        return cluster.topics.get_by_id(requested.topic_id)
    return cluster.topics.get(requested.name)


def _has_partition(topic: Topic, partition_index: int) -> bool:
    return 0 <= partition_index < len(topic.partitions)


def _missing_error(topic: Topic | None, version: int) -> ErrorCode:
    if topic is None and version >= TOPIC_ID_VERSION_MIN:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
