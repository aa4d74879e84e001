"""OffsetDelete: v0.

Behaviour:
    - Deletes committed offsets of a group. A topic that a consumer of the group subscribes to gets
      GROUP_SUBSCRIBED_TO_TOPIC, a missing topic UNKNOWN_TOPIC_OR_PARTITION, one that the client may
      not read TOPIC_AUTHORIZATION_FAILED. A missing offset is no error.
    - Errors of the whole request: GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
      NON_EMPTY_GROUP (members that are no consumers), NOT_COORDINATOR.
    - A known topic without partitions is not in the response. Missing partitions and denied topics
      come first.
"""

from broker.authorization.checks import DELETE_GROUP, READ_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.request.authorization import denied_names, is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced, paced_stream

_TopicResponse = messages.OffsetDeleteResponse.OffsetDeleteResponseTopic


@handles(ApiKey.OFFSET_DELETE, checks=(DELETE_GROUP, READ_TOPIC))
@may_pause
def handle_offset_delete(
    context: RequestContext, request: "messages.OffsetDeleteRequest", cluster: Cluster
) -> "messages.OffsetDeleteResponse":
    """Kafka's `KafkaApis.handleOffsetDeleteRequest`."""
    version = context.api_version
    if not is_allowed(context, cluster, DELETE_GROUP, request.group_id):
        return messages.OffsetDeleteResponse(version=version, error_code=DELETE_GROUP.error_code)
    names = (topic.name for topic in request.topics)
    denied = denied_names(context, cluster, READ_TOPIC, names)
    results: dict[str, list[_TopicResponse.OffsetDeleteResponsePartition]] = {}
    known: list[tuple[str, int]] = []
    for topic in paced(request.topics):
        is_denied = topic.name in denied
        if is_denied or cluster.topics.get(topic.name) is None:
            results.setdefault(topic.name, [])
        for partition in paced(topic.partitions):
            index = partition.partition_index
            if is_denied:
                results[topic.name].append(_result(index, READ_TOPIC.error_code))
            elif _exists(cluster, topic.name, index):
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
        return messages.OffsetDeleteResponse(version=version, error_code=error_code)
    for (topic_name, index), partition_error in paced_stream(zip(known, error_codes, strict=True)):
        results.setdefault(topic_name, []).append(_result(index, partition_error))
    return messages.OffsetDeleteResponse(
        version=version,
        error_code=ErrorCode.NONE,
        topics=[
            _TopicResponse(version=version, name=name, partitions=partitions)
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
