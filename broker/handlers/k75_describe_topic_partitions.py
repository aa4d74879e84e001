"""DescribeTopicPartitions: v0.

Behaviour:
    - Returns the named topics, sorted by name, each once; an empty list means all.
    - Returns at most response_partition_limit partitions, and never more than
      max.request.partition.size.limit. next_cursor then says where the next request should begin.
    - A cursor must name a topic of the list, if there is one, and a partition from 0 on; else every
      requested topic gets INVALID_REQUEST.
    - A request without a cursor that names the empty topic gets UNKNOWN_SERVER_ERROR for every
      topic.
    - A missing topic gets UNKNOWN_TOPIC_OR_PARTITION, an invalid name INVALID_TOPIC_EXCEPTION. A
      partition without a leader has leader -1 and no error.
    - Eligible leader replicas left the ISR while it was smaller than min.insync.replicas. The last
      known eligible one is the last leader of a partition whose ISR became empty (KIP-966).
    - Authorized operations are all operations: nothing is forbidden.
"""

from broker.administration.authorized_operations import (
    NOT_REQUESTED,
    TOPIC_OPERATIONS,
    bit_field,
)
from broker.administration.deletion import NO_TOPIC_ID
from broker.administration.pages import Cursor, PageEntry, names_from, read_page
from broker.cluster.cluster import Cluster
from broker.cluster.topics import INTERNAL_TOPICS, NO_LEADER, Partition, topic_name_problem
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Response = messages.DescribeTopicPartitionsResponse
_TopicResponse = _Response.DescribeTopicPartitionsResponseTopic
_PartitionResponse = _TopicResponse.DescribeTopicPartitionsResponsePartition


@handles(ApiKey.DESCRIBE_TOPIC_PARTITIONS)
@may_pause
def handle_describe_topic_partitions(
    context: RequestContext, request: "messages.DescribeTopicPartitionsRequest", cluster: Cluster
) -> "messages.DescribeTopicPartitionsResponse":
    """Kafka's `DescribeTopicPartitionsRequestHandler`."""
    version = context.api_version
    requested_names = [topic.name for topic in paced(request.topics)]
    cursor = None
    if request.cursor is not None:
        cursor = Cursor(request.cursor.topic_name, request.cursor.partition_index)
    error_code = _request_error(cursor, requested_names)
    if error_code is not ErrorCode.NONE:
        refused = [
            _refused(version, name, error_code, authorized_operations=NOT_REQUESTED)
            for name in paced(requested_names)
        ]
        return _Response(version=version, throttle_time_ms=0, topics=refused, next_cursor=None)
    all_names = requested_names or [topic.name for topic in paced(cluster.topics.all())]
    entries, next_cursor = read_page(
        cluster, names_from(all_names, cursor), cursor, request.response_partition_limit
    )
    return _Response(
        version=version,
        throttle_time_ms=0,
        topics=[_describe(cluster, version, entry) for entry in paced(entries)],
        next_cursor=None if next_cursor is None else _cursor_to_wire(version, next_cursor),
    )


def _cursor_to_wire(version: int, cursor: Cursor) -> _Response.Cursor:
    return _Response.Cursor(
        version=version, topic_name=cursor.topic_name, partition_index=cursor.partition_index
    )


def _request_error(cursor: Cursor | None, requested_names: list[str]) -> ErrorCode:
    if cursor is not None and (
        cursor.partition_index < 0 or (requested_names and cursor.topic_name not in requested_names)
    ):
        return ErrorCode.INVALID_REQUEST
    # Without a cursor Kafka takes the empty name for the cursor's topic.
    has_mistaken_cursor = cursor is None and "" in requested_names
    return ErrorCode.UNKNOWN_SERVER_ERROR if has_mistaken_cursor else ErrorCode.NONE


def _describe(cluster: Cluster, version: int, entry: PageEntry) -> _TopicResponse:
    if entry.topic is None:
        is_legal = topic_name_problem(entry.name) is None
        return _refused(
            version,
            entry.name,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal else ErrorCode.INVALID_TOPIC_EXCEPTION,
        )
    return _TopicResponse(
        version=version,
        error_code=ErrorCode.NONE,
        name=entry.name,
        topic_id=entry.topic.topic_id,
        is_internal=entry.topic.is_internal,
        partitions=[_describe_partition(cluster, version, part) for part in entry.partitions],
        topic_authorized_operations=bit_field(TOPIC_OPERATIONS),
    )


def _describe_partition(cluster: Cluster, version: int, partition: Partition) -> _PartitionResponse:
    return _PartitionResponse(
        version=version,
        error_code=ErrorCode.NONE,
        partition_index=partition.partition_index,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.eligible_leader_replicas),
        last_known_elr=[n for n in (partition.last_known_leader_id,) if n != NO_LEADER],
        offline_replicas=[n for n in partition.replicas if not cluster.is_alive(n)],
    )


def _refused(
    version: int,
    name: str,
    error_code: ErrorCode,
    authorized_operations: int = bit_field(TOPIC_OPERATIONS),
) -> _TopicResponse:
    return _TopicResponse(
        version=version,
        error_code=error_code,
        name=name,
        topic_id=NO_TOPIC_ID,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
        topic_authorized_operations=authorized_operations,
    )
