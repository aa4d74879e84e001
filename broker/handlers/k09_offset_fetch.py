"""OffsetFetch: v1-10.

Behaviour:
    - Returns the committed offsets of a group for the requested partitions; -1 if there is none. A
      null list of topics (v2+) requests all committed offsets.
    - From v8 a request may name several groups, each with its own error. From v10 topics are named
      by id; the partitions of an unknown id get UNKNOWN_TOPIC_ID, and come last. So do topics that
      the client may not describe (TOPIC_AUTHORIZATION_FAILED); among all offsets they are left out.
    - A group that does not exist has no committed offsets.
    - With require_stable (v7+) an offset that an open transaction commits gets
      UNSTABLE_OFFSET_COMMIT (KIP-447).
    - A member of the consumer or the streams protocol sends its id and epoch (v9+). Others of such
      a group are refused: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH; ILLEGAL_GENERATION for a member
      that uses the classic protocol.
    - Errors: GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR. v1 has no field for errors and sets them
      on each partition.
"""

from typing import TypeVar
from uuid import UUID

from broker.authorization.checks import DESCRIBE_GROUP, DESCRIBE_TOPIC, DESCRIBE_TOPIC_UNLISTED
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.groups.results import CommittedOffset
from broker.request.authorization import denied_names, is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

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
_FoundTopic = tuple[str, UUID | None, list[_Found]]
_RequestedTopic = tuple[str, UUID | None, list[int]]
"""The name and the id of a topic, and the indexes of partitions."""
_PartitionClass = TypeVar("_PartitionClass", _PartitionResponse, _OldPartitionResponse)


@handles(ApiKey.OFFSET_FETCH, checks=(DESCRIBE_GROUP, DESCRIBE_TOPIC, DESCRIBE_TOPIC_UNLISTED))
@may_pause
def handle_offset_fetch(
    context: RequestContext, request: "messages.OffsetFetchRequest", cluster: Cluster
) -> "messages.OffsetFetchResponse":
    """Kafka's `KafkaApis.handleOffsetFetchRequest`; v8 moved topics into groups."""
    version = context.api_version
    if version >= MANY_GROUPS_VERSION_MIN:
        return _Response(
            version=version,
            groups=[
                _response_group(context, group, cluster, require_stable=request.require_stable)
                for group in paced(request.groups)
            ],
        )
    requested: list[_RequestedTopic] | None = None
    if request.topics is not None:
        requested = [
            (topic.name, _NO_TOPIC_ID, topic.partition_indexes) for topic in paced(request.topics)
        ]
    error_code = _group_error(context, cluster, request.group_id)
    topics = _topics(
        context,
        request.group_id,
        requested,
        error_code,
        cluster,
        require_stable=request.require_stable,
    )
    return _Response(
        version=version,
        error_code=error_code,
        topics=[
            _OldTopicResponse(
                version=version,
                name=name,
                partitions=_partitions(_OldPartitionResponse, version, found),
            )
            for name, _topic_id, found in paced(topics)
        ],
    )


@may_pause
def _response_group(
    context: RequestContext,
    group: "messages.OffsetFetchRequest.OffsetFetchRequestGroup",
    cluster: Cluster,
    *,
    require_stable: bool,
) -> _GroupResponse:
    version = context.api_version
    requested: list[_RequestedTopic] | None = None
    if group.topics is not None:
        requested = [
            (topic.name, topic.topic_id, topic.partition_indexes) for topic in paced(group.topics)
        ]
    error_code = _group_error(context, cluster, group.group_id)
    if error_code is ErrorCode.NONE and version >= MEMBER_EPOCH_VERSION_MIN:
        error_code = cluster.groups.table.check_fetch(
            group.group_id, group.member_id, group.member_epoch
        )
    topics = _topics(
        context, group.group_id, requested, error_code, cluster, require_stable=require_stable
    )
    return _GroupResponse(
        version=version,
        group_id=group.group_id,
        topics=[
            _TopicResponse(
                version=version,
                name=name,
                topic_id=topic_id,
                partitions=_partitions(_PartitionResponse, version, found),
            )
            for name, topic_id, found in paced(topics)
        ],
        error_code=error_code,
    )


def _group_error(context: RequestContext, cluster: Cluster, group_id: str) -> ErrorCode:
    if not is_allowed(context, cluster, DESCRIBE_GROUP, group_id):
        return DESCRIBE_GROUP.error_code
    return ownership_error(cluster, context.broker_id, group_id)


@may_pause
def _topics(
    context: RequestContext,
    group_id: str,
    requested: list[_RequestedTopic] | None,
    error_code: ErrorCode,
    cluster: Cluster,
    *,
    require_stable: bool,
) -> list[_FoundTopic]:
    """Return the topics of one group; all its topics if none are requested."""
    version = context.api_version
    if error_code is ErrorCode.NONE:
        if requested is None:
            return _fetch_all(context, cluster, group_id, require_stable=require_stable)
        return _fetch(context, cluster, group_id, requested, require_stable=require_stable)
    if version >= GROUP_ERROR_VERSION_MIN or requested is None:
        return []
    return [
        (name, topic_id, [(index, _NOTHING, error_code) for index in paced(indexes)])
        for name, topic_id, indexes in paced(requested)
    ]


@may_pause
def _fetch(
    context: RequestContext,
    cluster: Cluster,
    group_id: str,
    requested: list[_RequestedTopic],
    *,
    require_stable: bool,
) -> list[_FoundTopic]:
    has_ids = context.api_version >= TOPIC_ID_VERSION_MIN
    if has_ids:
        requested = [
            (_name(cluster, topic_id), topic_id, indexes)
            for _nothing, topic_id, indexes in paced(requested)
        ]
    names = (name for name, _topic_id, _indexes in requested if name or not has_ids)
    denied = denied_names(context, cluster, DESCRIBE_TOPIC, names)
    known: list[_FoundTopic] = []
    refused: list[_FoundTopic] = []
    for name, topic_id, indexes in paced(requested):
        if (has_ids and not name) or name in denied:
            code = DESCRIBE_TOPIC.error_code if name in denied else ErrorCode.UNKNOWN_TOPIC_ID
            found = [(index, _NOTHING, code) for index in paced(indexes)]
            refused.append((name, topic_id, found))
            continue
        found = [
            _found(
                cluster,
                group_id,
                name,
                index,
                cluster.groups.table.committed(group_id, name, index) or _NOTHING,
                require_stable=require_stable,
            )
            for index in paced(indexes)
        ]
        known.append((name, topic_id, found))
    return known + refused


def _name(cluster: Cluster, topic_id: UUID | None) -> str:
    """Return the name of a topic; that of an unknown id is empty."""
    topic = cluster.topics.get_by_id(topic_id)
    return "" if topic is None else topic.name


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
    if require_stable and cluster.groups.table.is_unstable(group_id, name, index):
        return index, _NOTHING, ErrorCode.UNSTABLE_OFFSET_COMMIT
    return index, committed, ErrorCode.NONE


@may_pause
def _fetch_all(
    context: RequestContext, cluster: Cluster, group_id: str, *, require_stable: bool
) -> list[_FoundTopic]:
    by_topic: dict[str, list[_Found]] = {}
    for name, index, committed in paced(cluster.groups.table.all_committed(group_id)):
        by_topic.setdefault(name, []).append(
            _found(cluster, group_id, name, index, committed, require_stable=require_stable)
        )
    denied = denied_names(context, cluster, DESCRIBE_TOPIC_UNLISTED, by_topic)
    topics: list[_FoundTopic] = []
    for name, found in paced(by_topic.items()):
        topic = cluster.topics.get(name)
        has_id = topic is not None or context.api_version < TOPIC_ID_VERSION_MIN
        if has_id and name not in denied:
            topics.append((name, _NO_TOPIC_ID if topic is None else topic.topic_id, found))
    return topics


@may_pause
def _partitions(
    partition_class: type[_PartitionClass], version: int, found: list[_Found]
) -> list[_PartitionClass]:
    return [
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
