"""ListOffsets: v1-11.

Behaviour:
    - Finds the latest (-1), earliest (-2), largest-timestamp (-3, v7) and earliest local (-4, v8)
      offset, and the first record at or after a time. A time after every record gives offset and
      timestamp -1.
    - The tiered and pending-upload offsets (-5, -6) are -1: there is no tiered storage.
    - Another negative timestamp, or one that the version lacks, gets UNSUPPORTED_VERSION.
    - A partition that occurs twice in a request gets one INVALID_REQUEST. A topic without
      partitions is not in the response.
    - Topics that the client may not describe come last (TOPIC_AUTHORIZATION_FAILED).
    - An unknown isolation level gets UNKNOWN_SERVER_ERROR for every partition.
    - The latest offset is the high watermark, or with READ_COMMITTED (v2) the last stable one, and
      a record found from there on counts as none. For a replica id other than -1 it is the log's
      end. With replica id -2 a follower answers, too.
    - OFFSET_NOT_AVAILABLE (before v5 LEADER_NOT_AVAILABLE) for what is not found before a high
      watermark that is before the leader's epoch.
    - INVALID_RECORD if a compressed record is in the way that is larger than
      max.decompressed.message.bytes.
    - Leader and epoch are checked as for Fetch.
"""

from operator import attrgetter
from typing import TYPE_CHECKING

from broker.administration.epoch_end import epoch_starts
from broker.authorization.checks import DESCRIBE_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.leader_epoch import leader_epoch_error
from broker.cluster.offset_by_time import FoundOffset, first_record_from, latest_record
from broker.cluster.topics import Partition, Topic
from broker.request.authorization import partition_by_authorized
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced
from protocol.records import OversizedRecordError

if TYPE_CHECKING:
    from collections.abc import Sequence

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
READ_COMMITTED = 1
CONSUMER_REPLICA_ID = -1
DEBUGGING_REPLICA_ID = -2
_OFFSET_NOT_AVAILABLE_VERSION_MIN = 5
_VERSION_MIN = {
    LATEST: 0,
    EARLIEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}

_UNBOUNDED = frozenset({EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD})
"""What does not depend on where a consumer's records end."""
_ISOLATION_LEVELS = frozenset({0, 1})

_TopicResponse = messages.ListOffsetsResponse.ListOffsetsTopicResponse
_PartitionResponse = _TopicResponse.ListOffsetsPartitionResponse


@handles(ApiKey.LIST_OFFSETS, checks=(DESCRIBE_TOPIC,))
@may_pause
def handle_list_offsets(
    context: RequestContext, request: "messages.ListOffsetsRequest", cluster: Cluster
) -> "messages.ListOffsetsResponse":
    """Kafka's `KafkaApis.handleListOffsetRequest` and `UnifiedLog.fetchOffsetByTimestamp`."""
    version = context.api_version
    allowed, denied = partition_by_authorized(
        context, cluster, DESCRIBE_TOPIC, request.topics, attrgetter("name")
    )
    if allowed and version >= 2 and request.isolation_level not in _ISOLATION_LEVELS:
        topics = _error_topics(version, request.topics, ErrorCode.UNKNOWN_SERVER_ERROR)
        return messages.ListOffsetsResponse(version=version, throttle_time_ms=0, topics=topics)
    request_counts: dict[tuple[str, int], int] = {}
    for topic in paced(allowed):
        for part in paced(topic.partitions):
            key = (topic.name, part.partition_index)
            request_counts[key] = request_counts.get(key, 0) + 1
    responses: dict[str, dict[int, _PartitionResponse]] = {}
    for topic in paced(allowed):
        for part in paced(topic.partitions):
            found = FoundOffset()
            if request_counts[topic.name, part.partition_index] > 1:
                error_code = ErrorCode.INVALID_REQUEST
            else:
                error_code, found = _look_up(context, topic.name, part, cluster, request)
            responses.setdefault(topic.name, {})[part.partition_index] = _PartitionResponse(
                version=version,
                partition_index=part.partition_index,
                error_code=error_code,
                timestamp=found.timestamp,
                offset=found.offset,
                leader_epoch=found.leader_epoch,
            )
    topics = [
        _TopicResponse(version=version, name=name, partitions=list(partitions.values()))
        for name, partitions in paced(responses.items())
    ]
    topics += _error_topics(version, denied, DESCRIBE_TOPIC.error_code)
    return messages.ListOffsetsResponse(version=version, throttle_time_ms=0, topics=topics)


@may_pause
def _error_topics(
    version: int,
    topics: "Sequence[messages.ListOffsetsRequest.ListOffsetsTopic]",
    error_code: ErrorCode,
) -> list[_TopicResponse]:
    return [
        _TopicResponse(
            version=version,
            name=topic.name,
            partitions=[
                _PartitionResponse(
                    version=version, partition_index=part.partition_index, error_code=error_code
                )
                for part in paced(topic.partitions)
            ],
        )
        for topic in paced(topics)
    ]


@may_pause
def _look_up(
    context: RequestContext,
    topic_name: str,
    part: "messages.ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition",
    cluster: Cluster,
    request: "messages.ListOffsetsRequest",
) -> tuple[ErrorCode, FoundOffset]:
    timestamp = part.timestamp
    if timestamp < 0 and context.api_version < _VERSION_MIN.get(timestamp, 2**15):
        return ErrorCode.UNSUPPORTED_VERSION, FoundOffset()
    topic = cluster.topics.get(topic_name)
    partition = None if topic is None else topic.partition(part.partition_index)
    if topic is None or partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, FoundOffset()
    error_code = leader_epoch_error(
        partition,
        context.broker_id,
        part.current_leader_epoch,
        requires_leader=request.replica_id != DEBUGGING_REPLICA_ID,
    )
    if error_code != ErrorCode.NONE:
        return error_code, FoundOffset()
    try:
        found = _find(partition, timestamp, topic.on_broker(context.broker_id))
    except OversizedRecordError:
        return ErrorCode.INVALID_RECORD, FoundOffset()
    except ValueError:
        return ErrorCode.CORRUPT_MESSAGE, FoundOffset()
    if request.replica_id != CONSUMER_REPLICA_ID or timestamp in _UNBOUNDED:
        return ErrorCode.NONE, found
    reads_committed = request.isolation_level == READ_COMMITTED
    return _bounded(found, partition, timestamp, context.api_version, reads_committed)


def _bounded(
    found: FoundOffset, partition: Partition, timestamp: int, version: int, reads_committed: bool
) -> tuple[ErrorCode, FoundOffset]:
    """Return where a consumer's records end for the latest offset, and nothing from there on."""
    end_offset = partition.last_stable_offset if reads_committed else partition.log.high_watermark
    if timestamp != LATEST and 0 <= found.offset < end_offset:
        return ErrorCode.NONE, found
    if partition.has_lagging_high_watermark:
        is_known = version >= _OFFSET_NOT_AVAILABLE_VERSION_MIN
        code = ErrorCode.OFFSET_NOT_AVAILABLE if is_known else ErrorCode.LEADER_NOT_AVAILABLE
        return code, FoundOffset()
    if timestamp == LATEST:
        return ErrorCode.NONE, found._replace(offset=end_offset)
    return ErrorCode.NONE, FoundOffset()


@may_pause
def _find(partition: Partition, timestamp: int, topic: Topic) -> FoundOffset:
    log = partition.log
    if timestamp == LATEST:
        return FoundOffset(log.log_end_offset, -1, partition.leader_epoch)
    if timestamp in {EARLIEST, EARLIEST_LOCAL}:
        earliest_epoch, _start_offset = epoch_starts(partition)[0]
        return FoundOffset(log.log_start_offset, -1, earliest_epoch)
    if timestamp in {LATEST_TIERED, EARLIEST_PENDING_UPLOAD}:
        return FoundOffset()
    if timestamp == MAX_TIMESTAMP:
        return latest_record(log, topic.record_bytes_max)
    return first_record_from(partition, timestamp, topic.segment_settings, topic.record_bytes_max)
