"""Check how far the records of a partition may be deleted, and delete them.

Source: Kafka's `Partition.deleteRecordsOnLeader` and `ReplicaManager.deleteRecordsOnLocalLog`.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.log_memory import BATCHES_PER_STEP
from broker.cluster.topics import Partition, Topic
from broker.config.api_versions import release_of
from broker.config.release_keys import LIST_RULES_SINCE
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced
from protocol.releases import Release

HIGH_WATERMARK = -1
"""The offset that stands for the high watermark."""

INVALID_LOW_WATERMARK = -1


def check_record_deletion(
    topic: Topic, partition: Partition, broker_id: int, offset: int, release: Release
) -> tuple[ErrorCode, int]:
    """Return NONE and the new log start offset, or an error and -1.

    An offset before the log's start is fine and deletes nothing.
    """
    if topic.is_internal:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, INVALID_LOW_WATERMARK
    if partition.leader_id != broker_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER, INVALID_LOW_WATERMARK
    policy = topic.config["cleanup.policy"]
    # An empty list keeps everything until it is deleted by hand, from KIP-1161 on.
    if "delete" not in policy and (policy or release < LIST_RULES_SINCE):
        return ErrorCode.POLICY_VIOLATION, INVALID_LOW_WATERMARK
    log = partition.log
    if offset == HIGH_WATERMARK:
        return ErrorCode.NONE, log.high_watermark
    if not 0 <= offset <= log.high_watermark:
        return ErrorCode.OFFSET_OUT_OF_RANGE, INVALID_LOW_WATERMARK
    return ErrorCode.NONE, max(offset, log.log_start_offset)


@may_pause
def delete_records(
    cluster: Cluster, topic: Topic, partition: Partition, broker_id: int, offset: int, now_ms: int
) -> tuple[ErrorCode, int]:
    """Delete the records before an offset; return NONE and the new log start offset, or an error.

    With an error the offset is -1.
    """
    release = release_of(cluster.config.for_broker(broker_id))
    error_code, start_offset = check_record_deletion(topic, partition, broker_id, offset, release)
    if error_code is ErrorCode.NONE:
        # Other requests may come between two steps.
        for step_offset in paced(partition.log.steps_to(start_offset, BATCHES_PER_STEP)):
            error_code, _ = check_record_deletion(
                topic, partition, broker_id, start_offset, release
            )
            if error_code is not ErrorCode.NONE:
                return error_code, INVALID_LOW_WATERMARK
            cluster.delete_records_before(partition, step_offset, now_ms)
    return error_code, start_offset
