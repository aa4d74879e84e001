"""Fetch: v4-18.

Behaviour:
    - Returns complete batches, from the one that contains the fetch offset. At least one batch is
      returned, however large it is (KIP-74).
    - Waits for min_bytes or max_wait_ms, without polling. An error in any partition completes the
      response at once.
    - An offset outside the log gets OFFSET_OUT_OF_RANGE. A wrong leader epoch gets
      FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH. A broker that is not the leader says
      NOT_LEADER_OR_FOLLOWER, from v16 with the leader's address.
    - v13 and later name topics by id. Partitions with zstd batches need v10.
    - READ_COMMITTED reads up to the last stable offset, which is the high watermark as long as
      there are no transactions.
    - fetch.max.bytes bounds the response.
    - A client beyond its consumer_byte_rate gets an empty response and is throttled. One response
      carries no more than its quota allows in a burst.

Gaps:
    - No fetch sessions: every response is complete and has session id 0, which clients accept. A
      request inside a session gets FETCH_SESSION_ID_NOT_FOUND.
    - Followers do not fetch, since replicas share one log. A request with a replica id is served
      like a consumer's.
"""

from dataclasses import dataclass
from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.leader_epoch import leader_epoch_error
from broker.cluster.topics import Partition, Topic
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.request.throttling import SIZE_BYTES, charge_fetch, fetch_bytes_max
from broker.routes import handles
from protocol import messages, records
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

TOPIC_ID_VERSION_MIN = 13
ZSTD_VERSION_MIN = 10
LEADER_ENDPOINTS_VERSION_MIN = 16
FINAL_SESSION_EPOCH = -1
READ_COMMITTED = 1

_Response = messages.FetchResponse
_TopicResponse = _Response.FetchableTopicResponse
_PartitionData = _TopicResponse.PartitionData


@dataclass(frozen=True, slots=True)
class FetchPartition:
    """One partition of a request, looked up; `error_code` is the reason if it can't be read."""

    topic_name: str
    topic_id: Any
    topic: Topic | None
    partition: Partition | None
    request: Any
    error_code: ErrorCode


@dataclass(frozen=True, slots=True)
class _BoundedFetch:
    """A Fetch request and its size limits, which a quota may have lowered."""

    context: RequestContext
    request: Any
    cluster: Cluster
    bytes_max: int
    bytes_min: int


@handles(ApiKey.FETCH, versions=(4, 18))
def handle_fetch(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `KafkaApis.handleFetchRequest` and `DelayedFetch`."""
    is_in_session = context.api_version >= 7 and request.session_id != 0
    if is_in_session and request.session_epoch != FINAL_SESSION_EPOCH:
        return _Response(
            version=context.api_version,
            error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
            responses=[],
        )
    partitions = [
        _look_up(context, topic_request, part_request, cluster)
        for topic_request in request.topics
        for part_request in topic_request.partitions
    ]
    bytes_max = fetch_bytes_max(context, cluster, request.max_bytes)
    fetch = _BoundedFetch(context, request, cluster, bytes_max, min(request.min_bytes, bytes_max))
    if not partitions or request.max_wait_ms <= 0 or _is_satisfied(fetch, partitions):
        return _response(fetch, partitions, context.now_ms)
    return _wait(fetch, partitions)


def _wait(fetch: _BoundedFetch, partitions: list[FetchPartition]) -> PendingResponse:
    """Wait for new records or the end of `max_wait_ms`."""
    context, request, cluster = fetch.context, fetch.request, fetch.cluster
    timers = cluster.timers
    logs = [item.partition.log for item in partitions if item.partition is not None]
    parts = [(topic, part) for topic in request.topics for part in topic.partitions]
    is_due = False

    def forget() -> None:
        timers.cancel(deadline)
        for log in logs:
            log.waiters.pop(look_again, None)

    def finish(now_ms: int) -> None:
        forget()
        # Partitions may have moved or been deleted since then: check them again.
        current = [_look_up(context, topic, part, cluster) for topic, part in parts]
        pending.complete(_response(fetch, current, now_ms))

    def look_again(now_ms: int) -> None:
        nonlocal is_due
        if is_due:
            return
        current = [_look_up(context, topic, part, cluster) for topic, part in parts]
        if _is_satisfied(fetch, current):
            # Respond after the request that woke this one, with all records that it appended.
            is_due = True
            timers.schedule(now_ms, finish)

    pending = PendingResponse(on_cancel=forget, on_force_complete=finish)
    deadline = timers.schedule(context.now_ms + request.max_wait_ms, finish)
    for log in logs:
        log.waiters[look_again] = None
    return pending


def _look_up(
    context: RequestContext, topic_request: Any, part_request: Any, cluster: Cluster
) -> FetchPartition:
    if context.api_version >= TOPIC_ID_VERSION_MIN:
        topic = cluster.topics.get_by_id(topic_request.topic_id)
        name, missing = "", ErrorCode.UNKNOWN_TOPIC_ID
    else:
        topic = cluster.topics.get(topic_request.topic)
        name, missing = topic_request.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partition = None
    error_code = missing
    if topic is not None:
        partition = topic.partition(part_request.partition)
        if partition is None:
            error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            error_code = _check(context, partition, part_request)
    topic_id = topic_request.topic_id if context.api_version >= TOPIC_ID_VERSION_MIN else None
    return FetchPartition(name, topic_id, topic, partition, part_request, error_code)


def _check(context: RequestContext, partition: Partition, part_request: Any) -> ErrorCode:
    # Before v9 a request has no leader epoch; the schema's default means any.
    error_code = leader_epoch_error(partition, context.broker_id, part_request.current_leader_epoch)
    if error_code != ErrorCode.NONE:
        return error_code
    log = partition.log
    if not log.log_start_offset <= part_request.fetch_offset <= log.log_end_offset:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return ErrorCode.NONE


def _is_satisfied(fetch: _BoundedFetch, partitions: list[FetchPartition]) -> bool:
    """Return whether there is an error or enough bytes (`DelayedFetch.tryComplete`)."""
    left = fetch.bytes_min
    if left <= 0:
        return True
    for item in partitions:
        if item.error_code != ErrorCode.NONE or item.partition is None:
            return True
        limit = min(left, max(1, item.request.partition_max_bytes))
        left -= item.partition.log.readable_bytes(item.request.fetch_offset, limit)
        if left <= 0:
            return True
    return False


def _response(fetch: _BoundedFetch, partitions: list[FetchPartition], now_ms: int) -> Any:
    """Return the records, or an empty response and a throttle for a client beyond its quota."""
    context = fetch.context
    response = _read(fetch, partitions)
    if not fetch.cluster.quotas.clients.is_enabled:
        return response
    body = response.encode(version=context.api_version)
    if charge_fetch(context, fetch.cluster, len(body) + SIZE_BYTES, now_ms):
        return body
    return _Response(version=context.api_version, responses=[])


def _read(fetch: _BoundedFetch, partitions: list[FetchPartition]) -> Any:
    request, cluster = fetch.request, fetch.cluster
    version = fetch.context.api_version
    left = fetch.bytes_max
    responses: list[Any] = []
    leader_ids: set[int] = set()
    has_records = False
    for item in partitions:
        data = b""
        error_code = item.error_code
        if error_code == ErrorCode.NONE and item.partition is not None:
            limit = min(item.request.partition_max_bytes, left)
            batches = item.partition.log.read(
                item.request.fetch_offset, limit, at_least_one=not has_records
            )
            if version < ZSTD_VERSION_MIN and any(map(records.is_zstd, batches)):
                error_code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
            else:
                data = batches[0] if len(batches) == 1 else b"".join(batches)
                has_records = has_records or bool(data)
                left = max(0, left - len(data))
        part_response = _partition_data(request, item, version, error_code, data)
        if error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and item.partition is not None:
            leader_ids.add(item.partition.leader_id)
        if responses and _same_topic(responses[-1], item, version):
            responses[-1].partitions.append(part_response)
        else:
            responses.append(
                _TopicResponse(
                    version=version,
                    topic=item.topic_name,
                    topic_id=item.topic_id,
                    partitions=[part_response],
                )
            )
    response = _Response(
        version=version,
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        session_id=0,
        responses=responses,
    )
    if leader_ids and version >= LEADER_ENDPOINTS_VERSION_MIN:
        response.node_endpoints = [
            _Response.NodeEndpoint(
                node_id=broker.node_id, host=address.host, port=address.port, rack=broker.rack
            )
            for broker, address in cluster.addresses(fetch.context.session.listener)
            if broker.node_id in leader_ids
        ]
    return response


def _same_topic(response: Any, item: FetchPartition, version: int) -> bool:
    if version >= TOPIC_ID_VERSION_MIN:
        return bool(response.topic_id == item.topic_id)
    return bool(response.topic == item.topic_name)


def _partition_data(
    request: Any, item: FetchPartition, version: int, error_code: ErrorCode, data: bytes
) -> Any:
    partition = item.partition
    is_readable = error_code == ErrorCode.NONE and partition is not None
    end_offset = partition.log.log_end_offset if is_readable and partition is not None else -1
    start_offset = partition.log.log_start_offset if is_readable and partition is not None else -1
    response = _PartitionData(
        version=version,
        partition_index=item.request.partition,
        error_code=error_code,
        high_watermark=end_offset,
        last_stable_offset=end_offset,
        log_start_offset=start_offset,
        aborted_transactions=[] if request.isolation_level == READ_COMMITTED else None,
        preferred_read_replica=-1,
        records=data,
    )
    if (
        version >= 12
        and partition is not None
        and error_code in {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH}
    ):
        response.current_leader = _PartitionData.LeaderIdAndEpoch(
            leader_id=partition.leader_id, leader_epoch=partition.leader_epoch
        )
    return response
