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
    - Without DESCRIBE on a topic it gets TOPIC_AUTHORIZATION_FAILED, after all others in the order
      of Kafka's hash set, and a list of all topics leaves it out. Such results are not counted, so
      every page has them.
    - Authorized operations are those that the client may do: all without an authorizer.
"""

from broker.administration.authorized_operations import (
    NOT_REQUESTED,
    bit_field,
    topic_operations,
)
from broker.administration.deletion import NO_TOPIC_ID
from broker.administration.pages import Cursor, PageEntry, names_from, read_page
from broker.authorization.checks import DESCRIBE_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.topics import INTERNAL_TOPICS, NO_LEADER, Partition, topic_name_problem
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause, paced

_Response = messages.DescribeTopicPartitionsResponse
_TopicResponse = _Response.DescribeTopicPartitionsResponseTopic
_PartitionResponse = _TopicResponse.DescribeTopicPartitionsResponsePartition


@handles(ApiKey.DESCRIBE_TOPIC_PARTITIONS, checks=(DESCRIBE_TOPIC,))
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
    if not _is_valid(cursor, requested_names):
        return _refuse_all(version, requested_names, ErrorCode.INVALID_REQUEST)
    all_names = requested_names or [topic.name for topic in paced(cluster.topics.all())]
    names: list[str] = []
    denied_names: list[str] = []
    for name in paced(names_from(all_names, cursor)):
        may_describe = is_allowed(context, cluster, DESCRIBE_TOPIC, name)
        (names if may_describe else denied_names).append(name)
    if cursor is None and "" in names:
        # Without a cursor Kafka takes the empty name for the cursor's topic.
        return _refuse_all(version, requested_names, ErrorCode.UNKNOWN_SERVER_ERROR)
    entries, next_cursor = read_page(cluster, names, cursor, request.response_partition_limit)
    topics = [_describe(context, cluster, entry) for entry in paced(entries)]
    if requested_names:
        error_code = DESCRIBE_TOPIC.error_code
        denied_names = in_hash_order(denied_names, string_hash)
        topics += [_refused(version, name, error_code) for name in paced(denied_names)]
    return _Response(
        version=version,
        throttle_time_ms=0,
        topics=topics,
        next_cursor=None if next_cursor is None else _cursor_to_wire(version, next_cursor),
    )


@may_pause
def _refuse_all(version: int, names: list[str], error_code: ErrorCode) -> _Response:
    topics = [
        _refused(version, name, error_code, is_internal=name in INTERNAL_TOPICS)
        for name in paced(names)
    ]
    return _Response(version=version, throttle_time_ms=0, topics=topics, next_cursor=None)


def _cursor_to_wire(version: int, cursor: Cursor) -> _Response.Cursor:
    return _Response.Cursor(
        version=version, topic_name=cursor.topic_name, partition_index=cursor.partition_index
    )


def _is_valid(cursor: Cursor | None, requested_names: list[str]) -> bool:
    return cursor is None or (
        cursor.partition_index >= 0
        and (not requested_names or cursor.topic_name in requested_names)
    )


def _describe(context: RequestContext, cluster: Cluster, entry: PageEntry) -> _TopicResponse:
    version = context.api_version
    operations = bit_field(topic_operations(context, cluster, entry.name))
    if entry.topic is None:
        is_legal = topic_name_problem(entry.name) is None
        return _refused(
            version,
            entry.name,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal else ErrorCode.INVALID_TOPIC_EXCEPTION,
            is_internal=entry.name in INTERNAL_TOPICS,
            authorized_operations=operations,
        )
    return _TopicResponse(
        version=version,
        error_code=ErrorCode.NONE,
        name=entry.name,
        topic_id=entry.topic.topic_id,
        is_internal=entry.topic.is_internal,
        partitions=[_describe_partition(cluster, version, part) for part in entry.partitions],
        topic_authorized_operations=operations,
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
    *,
    is_internal: bool = False,
    authorized_operations: int = NOT_REQUESTED,
) -> _TopicResponse:
    return _TopicResponse(
        version=version,
        error_code=error_code,
        name=name,
        topic_id=NO_TOPIC_ID,
        is_internal=is_internal,
        partitions=[],
        topic_authorized_operations=authorized_operations,
    )
