"""DescribeShareGroupOffsets: v0.

Behaviour:
    - Returns the start offset of share partitions, as the share coordinator has it: of all with a
      state, or of those that the request names. It is -1 where there is none yet.
    - Each group has its own error: NOT_COORDINATOR, GROUP_ID_NOT_FOUND (all partitions of a group
      that does not exist), UNSUPPORTED_VERSION unless the feature share.version is 1.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from broker.administration.share_offsets import start_offset
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.cluster.share_loading import are_share_groups_enabled
from broker.errors import Refusal
from broker.request.context import RequestContext
from broker.routes import handles
from broker.share_groups.share_state import SharePartitionKey
from broker.share_groups.state_batches import NO_OFFSET
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import paced

_Response = messages.DescribeShareGroupOffsetsResponse
_Group = _Response.DescribeShareGroupOffsetsResponseGroup
_Topic = _Group.DescribeShareGroupOffsetsResponseTopic
_Partition = _Topic.DescribeShareGroupOffsetsResponsePartition
_NO_TOPIC_ID = UUID(int=0)


@handles(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 0))
def handle_describe_share_group_offsets(
    context: RequestContext, request: Any, cluster: Cluster
) -> Any:
    """Kafka's `KafkaApis.handleDescribeShareGroupOffsetsRequest`."""
    return _Response(groups=[_describe(context, group, cluster) for group in paced(request.groups)])


def _describe(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    group_id = request.group_id
    if not are_share_groups_enabled(cluster):
        return _error(group_id, ErrorCode.UNSUPPORTED_VERSION, None)
    if request.topics is not None:
        # As in Kafka, any broker returns the offsets of named partitions.
        topics = [
            _topic(cluster, group_id, topic.topic_name, topic.partitions)
            for topic in paced(request.topics)
        ]
        return _Group(group_id=group_id, topics=topics)
    error_code = ownership_error(cluster, context.broker_id, group_id)
    if error_code is not ErrorCode.NONE:
        return _error(group_id, error_code, None)
    group = cluster.share.groups.find(group_id)
    if isinstance(group, Refusal):
        return _error(group_id, group.error_code, group.error_message)
    names = {topic_id: cluster.topics.get_by_id(topic_id) for topic_id in group.initialized}
    return _Group(
        group_id=group_id,
        topics=[
            _topic(cluster, group_id, topic.name, sorted(group.initialized[topic_id]))
            for topic_id, topic in names.items()
            if topic is not None
        ],
    )


def _topic(cluster: Cluster, group_id: str, name: str, indexes: Iterable[int]) -> Any:
    topic = cluster.topics.get(name)
    partitions = []
    for index in indexes:
        offset, leader_epoch = NO_OFFSET, 0
        if topic is not None:
            key = SharePartitionKey(group_id, topic.topic_id, index)
            offset, leader_epoch = start_offset(cluster, key)
        partitions.append(
            _Partition(partition_index=index, start_offset=offset, leader_epoch=leader_epoch)
        )
    topic_id = _NO_TOPIC_ID if topic is None else topic.topic_id
    return _Topic(topic_name=name, topic_id=topic_id, partitions=partitions)


def _error(group_id: str, error_code: ErrorCode, error_message: str | None) -> Any:
    return _Group(group_id=group_id, error_code=error_code, error_message=error_message, topics=[])
