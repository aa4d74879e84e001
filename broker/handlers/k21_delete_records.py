"""DeleteRecords: v0-2.

Behaviour:
    - Moves the log start offset of each partition up to the given offset, -1 for the high
      watermark, and returns the new log start offset. A batch that contains the offset is kept
      whole; clients skip the records before it. A smaller offset changes nothing.
    - Each partition has one result: of a partition that occurs twice the last offset counts. A
      topic without partitions has no result.
    - Without DELETE on the topic its partitions get TOPIC_AUTHORIZATION_FAILED.
    - Errors: NOT_LEADER_OR_FOLLOWER, POLICY_VIOLATION (cleanup.policy without delete),
      INVALID_TOPIC_EXCEPTION (an internal topic), OFFSET_OUT_OF_RANGE (beyond the high watermark).
    - Followers know at once, so there is nothing to wait for. A timeout_ms that is not positive
      leaves them no time: REQUEST_TIMED_OUT with the old log start offset if any is up; the
      records are deleted all the same.
"""

from broker.administration.record_deletion import INVALID_LOW_WATERMARK, delete_records
from broker.authorization.checks import DELETE_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_TopicResult = messages.DeleteRecordsResponse.DeleteRecordsTopicResult
_PartitionResult = _TopicResult.DeleteRecordsPartitionResult


@handles(ApiKey.DELETE_RECORDS, checks=(DELETE_TOPIC,))
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
        is_denied = not is_allowed(context, cluster, DELETE_TOPIC, topic_name)
        for partition_index, offset in paced(offsets.items()):
            if is_denied:
                error_code, low_watermark = DELETE_TOPIC.error_code, INVALID_LOW_WATERMARK
            else:
                error_code, low_watermark = _delete(
                    context, topic_name, partition_index, offset, cluster, request.timeout_ms
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
    context: RequestContext,
    topic_name: str,
    partition_index: int,
    offset: int,
    cluster: Cluster,
    timeout_ms: int,
) -> tuple[ErrorCode, int]:
    topic = cluster.topics.get(topic_name)
    partition = None if topic is None else topic.partition(partition_index)
    if topic is None or partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, INVALID_LOW_WATERMARK
    before = partition.log.log_start_offset
    error_code, start_offset = delete_records(
        cluster, topic, partition, context.broker_id, offset, context.now_ms
    )
    if timeout_ms <= 0 and start_offset > before and _has_follower(cluster, partition):
        return ErrorCode.REQUEST_TIMED_OUT, before
    return error_code, start_offset


def _has_follower(cluster: Cluster, partition: Partition) -> bool:
    others = (node_id for node_id in partition.replicas if node_id != partition.leader_id)
    return any(map(cluster.is_alive, others))
