"""AlterShareGroupOffsets: v0.

Behaviour:
    - Begins share partitions of a group without members at other offsets. What was acknowledged is
      forgotten.
    - Errors of the request: UNSUPPORTED_VERSION unless the feature share.version is 1,
      GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
      NON_EMPTY_GROUP. Each partition has its own: TOPIC_AUTHORIZATION_FAILED,
      UNKNOWN_TOPIC_OR_PARTITION, COORDINATOR_NOT_AVAILABLE.
    - A negative partition of a topic that exists fails the request with UNKNOWN_SERVER_ERROR.
    - Topics that do not exist, or that the client may not read, come first; one without partitions
      is left out. A partition is listed as often as it is named.
    - A group that does not exist is created with its offsets. Before Kafka 4.2 it gets
      GROUP_ID_NOT_FOUND, and without topics the group is not looked at.

Gaps:
    - Kafka 4.1.0 ignores topics that exist and all errors of the request; here as in Kafka 4.2.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

from broker.administration.share_offsets import (
    alter_offsets,
    group_to_change,
    negative_partition,
)
from broker.authorization.checks import READ_GROUP, READ_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import SHARE_GROUP_STATE
from broker.cluster.share_loading import are_share_groups_enabled
from broker.cluster.topics import Topic
from broker.config.api_versions import release_of
from broker.errors import UNKNOWN_PARTITION, Refusal
from broker.request.authorization import denied_names, is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.share_group import ShareGroup
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, no_pause, paced
from protocol.releases import Release

MAKES_GROUPS_SINCE: Release = (4, 2)
"""First release that creates a group whose offsets are altered."""

_Response = messages.AlterShareGroupOffsetsResponse
_Topic = _Response.AlterShareGroupOffsetsResponseTopic
_Partition = _Topic.AlterShareGroupOffsetsResponsePartition
_RequestedPartition: TypeAlias = (
    "messages.AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic"
    ".AlterShareGroupOffsetsRequestPartition"
)
_NO_TOPIC_ID = UUID(int=0)


@handles(ApiKey.ALTER_SHARE_GROUP_OFFSETS, checks=(READ_GROUP, READ_TOPIC))
@may_pause
def handle_alter_share_group_offsets(
    context: RequestContext, request: "messages.AlterShareGroupOffsetsRequest", cluster: Cluster
) -> "messages.AlterShareGroupOffsetsResponse":
    """Kafka's `KafkaApis.handleAlterShareGroupOffsetsRequest`."""
    denial = READ_GROUP.refusal
    is_enabled = are_share_groups_enabled(cluster)
    if is_enabled and not is_allowed(context, cluster, READ_GROUP, request.group_id):
        return _Response(error_code=denial.error_code, error_message=denial.error_message)
    makes_groups = release_of(cluster.config.for_broker(context.broker_id)) >= MAKES_GROUPS_SINCE
    has_no_work = not request.topics and not makes_groups
    if has_no_work and request.group_id and is_enabled:
        return _Response(responses=[])
    group = group_to_change(context, cluster, request.group_id, is_made=makes_groups)
    if isinstance(group, Refusal):
        return _Response(error_code=group.error_code, error_message=group.error_message)
    names = (topic.topic_name for topic in request.topics)
    denied = denied_names(context, cluster, READ_TOPIC, names)
    refused: dict[str, _Topic] = {}
    existing: list[tuple[Topic, list[_RequestedPartition]]] = []
    for topic_request in paced(request.topics):
        topic = cluster.topics.get(topic_request.topic_name)
        name, requested = topic_request.topic_name, topic_request.partitions
        if topic is not None and name not in denied:
            existing.append((topic, requested))
            continue
        refusal = READ_TOPIC.refusal if name in denied else UNKNOWN_PARTITION
        entries = [_entry(entry.partition_index, refusal) for entry in paced(requested)]
        if name in refused:
            refused[name].partitions += entries
        elif entries:
            topic_id = _NO_TOPIC_ID if topic is None else topic.topic_id
            refused[name] = _Topic(topic_name=name, topic_id=topic_id, partitions=entries)
    failure = _negative_index(cluster, group, existing, context.now_ms)
    if failure is not None:
        return _Response(error_code=failure.error_code, error_message=failure.error_message)
    altered: dict[UUID, _Topic] = {}
    for topic, requested in existing:
        found = altered.setdefault(
            topic.topic_id, _Topic(topic_name=topic.name, topic_id=topic.topic_id, partitions=[])
        )
        found.partitions += _alter(
            context, cluster, group.group_id, topic, requested, makes_groups=makes_groups
        )
    return _Response(responses=[*refused.values(), *altered.values()])


@may_pause
def _negative_index(
    cluster: Cluster,
    group: ShareGroup,
    existing: Sequence[tuple[Topic, Sequence[_RequestedPartition]]],
    now_ms: int,
) -> Refusal | None:
    """Refuse a request with a negative partition of an existing topic; the group is kept."""
    indexes: dict[UUID, dict[int, None]] = {}
    for topic, requested in existing:
        valid = (
            entry.partition_index
            for entry in paced(requested)
            if entry.partition_index < len(topic.partitions)
        )
        indexes.setdefault(topic.topic_id, {}).update(dict.fromkeys(valid))
    refusal = negative_partition(group.group_id, indexes)
    if refusal is not None:
        cluster.share.groups.set_initialized(group, [], now_ms)
    return refusal


@may_pause
def _alter(
    context: RequestContext,
    cluster: Cluster,
    group_id: str,
    topic: Topic,
    requested: Sequence[_RequestedPartition],
    *,
    makes_groups: bool,
) -> list[_Partition]:
    """Begin the partitions of a topic at other offsets; each is listed as often as it is named."""
    offsets = {
        TopicIdPartition(topic.topic_id, entry.partition_index): entry.start_offset
        for entry in paced(requested)
    }
    ensure_internal_topic(cluster, SHARE_GROUP_STATE)
    results: Mapping[TopicIdPartition, Refusal | None]
    with no_pause():
        # Members may have joined, or the group may have been deleted, during a pause.
        group = group_to_change(context, cluster, group_id, is_made=makes_groups)
        if isinstance(group, Refusal):
            results = dict.fromkeys(offsets, group)
        else:
            results = alter_offsets(cluster, group, offsets, context.now_ms)
        return [
            _entry(
                entry.partition_index,
                results[TopicIdPartition(topic.topic_id, entry.partition_index)],
            )
            for entry in requested
        ]


def _entry(partition_index: int, refusal: Refusal | None) -> _Partition:
    return _Partition(
        partition_index=partition_index,
        error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
        error_message=None if refusal is None else refusal.error_message,
    )
