"""DeleteRecords: v0-2.

Behaviour:
    - Moves the log start offset of each partition up to the given offset, -1 for the high
      watermark, and returns the new log start offset. A batch that contains the offset is kept
      whole; clients skip the records before it. A smaller offset changes nothing.
    - Each partition has one result: of a partition that occurs twice the last offset counts. A
      topic without partitions has no result.
    - Errors: NOT_LEADER_OR_FOLLOWER, POLICY_VIOLATION (cleanup.policy without delete),
      INVALID_TOPIC_EXCEPTION (an internal topic), OFFSET_OUT_OF_RANGE (beyond the high watermark).
    - Followers share the log, so there is nothing to wait for; timeout_ms has no effect.
"""

from broker.administration.record_deletion import INVALID_LOW_WATERMARK, delete_records
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_TopicResult = messages.DeleteRecordsResponse.DeleteRecordsTopicResult
_PartitionResult = _TopicResult.DeleteRecordsPartitionResult


@handles(ApiKey.DELETE_RECORDS)
@may_pause
def handle_delete_records(
    context: RequestContext, request: "messages.DeleteRecordsRequest", cluster: Cluster
) -> "messages.DeleteRecordsResponse":
    """Kafka's `KafkaApis.handleDeleteRecordsRequest`."""
    version = context.api_version
    requested: dict[str, dict[int, int]] = {}
    for topic in paced(request.topics):
        for part in paced(topic.partitions):
            requested.setdefault(topic.name, {})[part.partition_index] = part.offset
    topics = []
    for topic_name, offsets in paced(requested.items()):
        results = []
        for partition_index, offset in paced(offsets.items()):
            error_code, low_watermark = _delete(
                context, topic_name, partition_index, offset, cluster
            )
            results.append(
                _PartitionResult(
                    version=version,
                    partition_index=partition_index,
                    low_watermark=low_watermark,
                    error_code=error_code,
                )
            )
        topics.append(_TopicResult(version=version, name=topic_name, partitions=results))
    return messages.DeleteRecordsResponse(version=version, throttle_time_ms=0, topics=topics)


@may_pause
def _delete(
    context: RequestContext, topic_name: str, partition_index: int, offset: int, cluster: Cluster
) -> tuple[ErrorCode, int]:
    topic = cluster.topics.get(topic_name)
    partition = None if topic is None else topic.partition(partition_index)
    if topic is None or partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, INVALID_LOW_WATERMARK
    return delete_records(cluster, topic, partition, context.broker_id, offset, context.now_ms)
