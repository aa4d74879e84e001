"""OffsetFetch: v1-10.

Behaviour:
    - Returns the committed offsets of a group for the requested partitions; -1 if there is none. A
      null list of topics (v2+) requests all committed offsets.
    - From v8 a request may name several groups, each with its own error. From v10 topics are named
      by id; the partitions of an unknown id get UNKNOWN_TOPIC_ID.
    - A group that does not exist has no committed offsets.
    - With require_stable (v7+) an offset that an open transaction commits gets
      UNSTABLE_OFFSET_COMMIT (KIP-447).
    - A member of the consumer protocol sends its id and epoch (v9+). Others of a group of this
      protocol are refused: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH; ILLEGAL_GENERATION for a member
      that uses the classic protocol.
    - Error: NOT_COORDINATOR. v1 has no field for errors and sets them on each partition.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.groups.results import CommittedOffset
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import paced

GROUP_ERROR_VERSION_MIN = 2
MANY_GROUPS_VERSION_MIN = 8
MEMBER_EPOCH_VERSION_MIN = 9
TOPIC_ID_VERSION_MIN = 10

_Response = messages.OffsetFetchResponse
_GroupResponse = _Response.OffsetFetchResponseGroup
_TopicResponse = _GroupResponse.OffsetFetchResponseTopics
_PartitionResponse = _TopicResponse.OffsetFetchResponsePartitions
_OldTopicResponse = _Response.OffsetFetchResponseTopic
_OldPartitionResponse = _OldTopicResponse.OffsetFetchResponsePartition
_NOTHING = CommittedOffset(offset=-1, leader_epoch=-1, metadata="", committed_ms=-1)
_NO_TOPIC_ID = UUID(int=0)

_Found = tuple[int, CommittedOffset, ErrorCode]
"""One partition: its index, the committed offset, and the error code."""


@handles(ApiKey.OFFSET_FETCH)
def handle_offset_fetch(
    context: RequestContext, request: "messages.OffsetFetchRequest", cluster: Cluster
) -> "messages.OffsetFetchResponse":
    """Kafka's `KafkaApis.handleOffsetFetchRequest`."""
    version = context.api_version
    if version >= MANY_GROUPS_VERSION_MIN:
        groups = []
        for requested in paced(request.groups):
            error_code, topics = _response_group(
                context, requested, cluster, require_stable=request.require_stable
            )
            groups.append(
                _GroupResponse(
                    version=version,
                    group_id=requested.group_id,
                    topics=topics,
                    error_code=error_code,
                )
            )
        return _Response(version=version, groups=groups)
    error_code, topics = _response_group(
        context, request, cluster, require_stable=request.require_stable
    )
    return _Response(version=version, error_code=error_code, topics=topics)


def _response_group(
    context: RequestContext, requested: Any, cluster: Cluster, *, require_stable: bool
) -> tuple[ErrorCode, list[Any]]:
    """Return the error and the topics of one group; `requested` has `group_id` and `topics`."""
    version = context.api_version
    error_code = ownership_error(cluster, context.broker_id, requested.group_id)
    if error_code is ErrorCode.NONE and version >= MEMBER_EPOCH_VERSION_MIN:
        error_code = cluster.groups.check_fetch(
            requested.group_id, requested.member_id, requested.member_epoch
        )
    if error_code is ErrorCode.NONE:
        if requested.topics is None:
            return error_code, _fetch_all(
                cluster, requested.group_id, version, require_stable=require_stable
            )
        topics = [
            _fetch_topic(cluster, requested.group_id, topic, version, require_stable=require_stable)
            for topic in paced(requested.topics)
        ]
        return error_code, topics
    if version >= GROUP_ERROR_VERSION_MIN:
        return error_code, []
    return error_code, [
        _topic(
            version,
            topic.name,
            _NO_TOPIC_ID,
            [(index, _NOTHING, error_code) for index in paced(topic.partition_indexes)],
        )
        for topic in paced(requested.topics)
    ]


def _fetch_topic(
    cluster: Cluster, group_id: str, requested: Any, version: int, *, require_stable: bool
) -> Any:
    name, topic_id = requested.name, _NO_TOPIC_ID
    if version >= TOPIC_ID_VERSION_MIN:
        topic_id = requested.topic_id
        topic = cluster.topics.get_by_id(topic_id)
        if topic is None:
            unknown = ErrorCode.UNKNOWN_TOPIC_ID
            found = [(index, _NOTHING, unknown) for index in paced(requested.partition_indexes)]
            return _topic(version, "", topic_id, found)
        name = topic.name
    found = [
        _found(
            cluster,
            group_id,
            name,
            index,
            cluster.groups.committed(group_id, name, index) or _NOTHING,
            require_stable=require_stable,
        )
        for index in paced(requested.partition_indexes)
    ]
    return _topic(version, name, topic_id, found)


def _found(
    cluster: Cluster,
    group_id: str,
    name: str,
    index: int,
    committed: CommittedOffset,
    *,
    require_stable: bool,
) -> _Found:
    """Return a committed offset, or UNSTABLE_OFFSET_COMMIT if an open transaction commits it."""
    if require_stable and cluster.groups.is_unstable(group_id, name, index):
        return index, _NOTHING, ErrorCode.UNSTABLE_OFFSET_COMMIT
    return index, committed, ErrorCode.NONE


def _fetch_all(cluster: Cluster, group_id: str, version: int, *, require_stable: bool) -> list[Any]:
    by_topic: dict[str, list[_Found]] = {}
    for name, index, committed in paced(cluster.groups.all_committed(group_id)):
        by_topic.setdefault(name, []).append(
            _found(cluster, group_id, name, index, committed, require_stable=require_stable)
        )
    responses = []
    for name, found in paced(by_topic.items()):
        topic = cluster.topics.get(name)
        if topic is not None or version < TOPIC_ID_VERSION_MIN:
            topic_id = _NO_TOPIC_ID if topic is None else topic.topic_id
            responses.append(_topic(version, name, topic_id, found))
    return responses


def _topic(version: int, name: str, topic_id: UUID, found: Iterable[_Found]) -> Any:
    """Return one topic of the response; v8 moved topics into groups, with other classes."""
    is_in_group = version >= MANY_GROUPS_VERSION_MIN
    partition_class: Any = _PartitionResponse if is_in_group else _OldPartitionResponse
    partitions = [
        partition_class(
            version=version,
            partition_index=index,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
            error_code=error_code,
        )
        for index, committed, error_code in paced(found)
    ]
    if is_in_group:
        return _TopicResponse(version=version, name=name, topic_id=topic_id, partitions=partitions)
    return _OldTopicResponse(version=version, name=name, partitions=partitions)
