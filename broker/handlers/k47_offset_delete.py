"""OffsetDelete: v0.

Behaviour:
    - Deletes committed offsets of a group. A topic that a consumer of the group subscribes to gets
      GROUP_SUBSCRIBED_TO_TOPIC, a missing topic UNKNOWN_TOPIC_OR_PARTITION. A missing offset is no
      error.
    - Errors of the whole request: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP (members
      that are no consumers), NOT_COORDINATOR.
    - A known topic without partitions is not in the response. Missing partitions come first.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced, paced_stream

_TopicResponse = messages.OffsetDeleteResponse.OffsetDeleteResponseTopic


@handles(ApiKey.OFFSET_DELETE)
@may_pause
def handle_offset_delete(
    context: RequestContext, request: "messages.OffsetDeleteRequest", cluster: Cluster
) -> "messages.OffsetDeleteResponse":
    """Kafka's `KafkaApis.handleOffsetDeleteRequest`."""
    results: dict[str, list[_TopicResponse.OffsetDeleteResponsePartition]] = {}
    known: list[tuple[str, int]] = []
    for topic in paced(request.topics):
        if cluster.topics.get(topic.name) is None:
            results.setdefault(topic.name, [])
        for partition in paced(topic.partitions):
            index = partition.partition_index
            if _exists(cluster, topic.name, index):
                known.append((topic.name, index))
            else:
                result = _result(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                results.setdefault(topic.name, []).append(result)
    error_code = ownership_error(cluster, context.broker_id, request.group_id)
    error_codes: tuple[ErrorCode, ...] = ()
    if error_code is ErrorCode.NONE:
        error_code, error_codes = cluster.groups.table.delete_offsets(
            request.group_id, known, context.now_ms
        )
    if error_code is not ErrorCode.NONE:
        return messages.OffsetDeleteResponse(version=context.api_version, error_code=error_code)
    for (topic_name, index), partition_error in paced_stream(zip(known, error_codes, strict=True)):
        results.setdefault(topic_name, []).append(_result(index, partition_error))
    return messages.OffsetDeleteResponse(
        version=context.api_version,
        error_code=ErrorCode.NONE,
        topics=[
            _TopicResponse(version=context.api_version, name=name, partitions=partitions)
            for name, partitions in results.items()
        ],
    )


def _result(
    partition_index: int, error_code: ErrorCode
) -> _TopicResponse.OffsetDeleteResponsePartition:
    return _TopicResponse.OffsetDeleteResponsePartition(
        partition_index=partition_index, error_code=error_code
    )


def _exists(cluster: Cluster, topic_name: str, partition_index: int) -> bool:
    topic = cluster.topics.get(topic_name)
    return topic is not None and 0 <= partition_index < len(topic.partitions)
