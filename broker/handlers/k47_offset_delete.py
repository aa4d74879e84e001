"""OffsetDelete: v0.

Behaviour:
    - Deletes committed offsets of a group. A topic that a consumer of the group subscribes to gets
      GROUP_SUBSCRIBED_TO_TOPIC, a missing topic UNKNOWN_TOPIC_OR_PARTITION. A missing offset is no
      error.
    - Errors of the whole request: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP (members
      that are no consumers), NOT_COORDINATOR. As in Kafka, none of them occurs if no partition of
      the request exists.
"""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

_TopicResponse = messages.OffsetDeleteResponse.OffsetDeleteResponseTopic


@handles(ApiKey.OFFSET_DELETE, versions=(0, 0))
def handle_offset_delete(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `KafkaApis.handleOffsetDeleteRequest`."""
    requested = [
        (topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]
    known = [partition for partition in requested if _exists(cluster, *partition)]
    error_code, error_codes = _delete(context, request.group_id, known, cluster)
    if error_code is not ErrorCode.NONE:
        return messages.OffsetDeleteResponse(version=context.api_version, error_code=error_code)
    outcome = dict(zip(known, error_codes, strict=True))
    return messages.OffsetDeleteResponse(
        version=context.api_version,
        error_code=ErrorCode.NONE,
        topics=[
            _TopicResponse(
                version=context.api_version,
                name=topic.name,
                partitions=[
                    _TopicResponse.OffsetDeleteResponsePartition(
                        version=context.api_version,
                        partition_index=partition.partition_index,
                        error_code=outcome.get(
                            (topic.name, partition.partition_index),
                            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        ),
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _delete(
    context: RequestContext, group_id: str, known: list[tuple[str, int]], cluster: Cluster
) -> tuple[ErrorCode, tuple[ErrorCode, ...]]:
    if not known:
        return ErrorCode.NONE, ()
    error_code = ownership_error(cluster, context.broker_id, group_id)
    if error_code is not ErrorCode.NONE:
        return error_code, ()
    return cluster.groups.delete_offsets(group_id, known)


def _exists(cluster: Cluster, topic_name: str, partition_index: int) -> bool:
    topic = cluster.topics.get(topic_name)
    return topic is not None and 0 <= partition_index < len(topic.partitions)
