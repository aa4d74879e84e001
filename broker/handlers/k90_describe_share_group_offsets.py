"""DescribeShareGroupOffsets: v0-1.

Behaviour:
    - Returns the start offset and the lag (v1) of share partitions, as the share coordinator has
      them: of all with a state, or of those that the request names. Both are -1 where there is no
      state yet. The lag is the number of records up to the high watermark that are not finished
      (KIP-1226).
    - Named topics that do not exist come first, since Kafka 4.2 last; the others are in the order
      of Kafka's hash maps. A partition that is named twice counts once. A group that does not exist
      has no partitions.
    - Named topics that the client may not describe come last (TOPIC_AUTHORIZATION_FAILED). Among
      all partitions they are left out.
    - Each group has its own error: GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR (all partitions of
      another coordinator's group), UNKNOWN_SERVER_ERROR (named topics without an id of the group,
      without partitions, or with a negative one), UNSUPPORTED_VERSION unless the feature
      share.version is 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias
from uuid import UUID

from broker.administration.share_offsets import share_offset
from broker.authorization.checks import DESCRIBE_GROUP, DESCRIBE_TOPIC, DESCRIBE_TOPIC_UNLISTED
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.cluster.share_loading import are_share_groups_enabled
from broker.config.api_versions import release_of
from broker.errors import NOT_COORDINATOR_MESSAGE, UNKNOWN_SERVER_ERROR_MESSAGE
from broker.request.authorization import is_allowed, partition_by_authorized
from broker.request.context import RequestContext
from broker.routes import handles
from broker.share_groups.share_state import SharePartitionKey
from broker.share_groups.state_batches import NO_OFFSET
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, int_hash, uuid_hash
from protocol.pacing import may_pause, paced
from protocol.releases import Release

MISSING_ARE_LAST_SINCE: Release = (4, 2)

_Response = messages.DescribeShareGroupOffsetsResponse
_Group = _Response.DescribeShareGroupOffsetsResponseGroup
_Topic = _Group.DescribeShareGroupOffsetsResponseTopic
_Partition = _Topic.DescribeShareGroupOffsetsResponsePartition
_RequestedTopic: TypeAlias = (
    "messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup"
    ".DescribeShareGroupOffsetsRequestTopic"
)
_NO_TOPIC_ID = UUID(int=0)


@handles(
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    checks=(DESCRIBE_GROUP, DESCRIBE_TOPIC, DESCRIBE_TOPIC_UNLISTED),
)
@may_pause
def handle_describe_share_group_offsets(
    context: RequestContext, request: "messages.DescribeShareGroupOffsetsRequest", cluster: Cluster
) -> "messages.DescribeShareGroupOffsetsResponse":
    """Kafka's `KafkaApis.handleDescribeShareGroupOffsetsRequest`."""
    return _Response(groups=[_describe(context, group, cluster) for group in paced(request.groups)])


@may_pause
def _describe(
    context: RequestContext,
    request: "messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup",
    cluster: Cluster,
) -> _Group:
    group_id = request.group_id
    if not are_share_groups_enabled(cluster):
        return _error(group_id, ErrorCode.UNSUPPORTED_VERSION, None)
    if not is_allowed(context, cluster, DESCRIBE_GROUP, group_id):
        return _error(group_id, DESCRIBE_GROUP.error_code, None)
    if request.topics is not None:
        # As in Kafka, any broker returns the offsets of named partitions.
        release = release_of(cluster.config.for_broker(context.broker_id))
        allowed, denied = partition_by_authorized(
            context, cluster, DESCRIBE_TOPIC, request.topics, attrgetter("topic_name")
        )
        group_response = _describe_named(
            cluster, group_id, allowed, is_missing_last=release >= MISSING_ARE_LAST_SINCE
        )
        if denied and group_response.error_code == ErrorCode.NONE:
            group_response.topics += [_denied_topic(topic) for topic in paced(denied)]
        return group_response
    error_code = ownership_error(cluster, context.broker_id, group_id)
    if error_code is not ErrorCode.NONE:
        return _error(group_id, error_code, NOT_COORDINATOR_MESSAGE)
    group = cluster.share.groups.get(group_id)
    partitions = {} if group is None else group.initialized
    topics, _denied = partition_by_authorized(
        context,
        cluster,
        DESCRIBE_TOPIC_UNLISTED,
        _topics(cluster, group_id, partitions),
        attrgetter("topic_name"),
    )
    return _Group(group_id=group_id, topics=list(topics))


@may_pause
def _describe_named(
    cluster: Cluster,
    group_id: str,
    requests: Sequence[_RequestedTopic],
    *,
    is_missing_last: bool,
) -> _Group:
    missing = []
    partitions: dict[UUID, list[int]] = {}
    is_invalid = False
    for request in paced(requests):
        topic = cluster.topics.get(request.topic_name)
        if topic is None:
            entries = [
                _Partition(partition_index=index, start_offset=NO_OFFSET)
                for index in paced(request.partitions)
            ]
            missing.append(
                _Topic(topic_name=request.topic_name, topic_id=_NO_TOPIC_ID, partitions=entries)
            )
        else:
            is_invalid |= not request.partitions or min(request.partitions) < 0
            partitions.setdefault(topic.topic_id, []).extend(request.partitions)
    if is_invalid or (partitions and not group_id):
        return _error(group_id, ErrorCode.UNKNOWN_SERVER_ERROR, UNKNOWN_SERVER_ERROR_MESSAGE)
    found = _topics(cluster, group_id, partitions)
    return _Group(group_id=group_id, topics=found + missing if is_missing_last else missing + found)


def _denied_topic(request: _RequestedTopic) -> _Topic:
    denial = DESCRIBE_TOPIC.refusal
    return _Topic(
        topic_name=request.topic_name,
        topic_id=_NO_TOPIC_ID,
        partitions=[
            _Partition(
                partition_index=index,
                start_offset=NO_OFFSET,
                lag=NO_OFFSET,
                error_code=denial.error_code,
                error_message=denial.error_message,
            )
            for index in request.partitions
        ],
    )


@may_pause
def _topics(
    cluster: Cluster, group_id: str, partitions: Mapping[UUID, Iterable[int]]
) -> list[_Topic]:
    found = []
    for topic_id in paced(in_hash_order(partitions, uuid_hash)):
        topic = cluster.topics.get_by_id(topic_id)
        if topic is not None:
            indexes = in_hash_order(dict.fromkeys(partitions[topic_id]), int_hash)
            entries = [
                _partition(cluster, SharePartitionKey(group_id, topic_id, n))
                for n in paced(indexes)
            ]
            found.append(_Topic(topic_name=topic.name, topic_id=topic_id, partitions=entries))
    return found


def _partition(cluster: Cluster, key: SharePartitionKey) -> _Partition:
    offset = share_offset(cluster, key)
    return _Partition(
        partition_index=key.partition_index,
        start_offset=offset.start_offset,
        leader_epoch=offset.leader_epoch,
        lag=offset.lag,
    )


def _error(group_id: str, error_code: ErrorCode, error_message: str | None) -> _Group:
    return _Group(group_id=group_id, error_code=error_code, error_message=error_message, topics=[])
