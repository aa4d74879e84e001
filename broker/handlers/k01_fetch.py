"""Fetch: v4-18.

Behaviour:
    - Returns complete batches, from the one that contains the fetch offset. At least one batch is
      returned, however large it is (KIP-74).
    - Waits for min_bytes or max_wait_ms, without polling. An error or a preferred replica in any
      partition completes the response at once. A topic that is unknown when the request comes does
      not, unless there is no other partition.
    - An offset outside the log gets OFFSET_OUT_OF_RANGE. A wrong leader epoch gets
      FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH. A broker without a replica says
      NOT_LEADER_OR_FOLLOWER, from v16 with the leader's address.
    - From v12 a last_fetched_epoch that the log does not know gets a diverging epoch.
    - v13 and later name topics by id. A topic that was deleted and created again gets
      INCONSISTENT_TOPIC_ID in a session. Before Kafka 4.0
      (broker.api.versions) partitions with zstd batches need v10.
    - Fetch sessions from v7 (KIP-227): an incremental response has the partitions with records,
      with an error, or with another high watermark or log start offset than before. A broker has
      max.incremental.fetch.session.cache.slots of them, in 8 shards. A session that is unused for
      2 minutes, or older than that and smaller, is evicted for a new one. They end when the broker
      stops.
    - With replica.selector.class a consumer with a rack gets the replica in its rack (KIP-392).
      From v11 followers serve consumers. Older versions and followers read from the leader.
    - A negative size fails the partitions that have records to read, and an unknown isolation level
      the request, with UNKNOWN_SERVER_ERROR.
    - READ_COMMITTED reads up to the last stable offset, the begin of the oldest open transaction,
      and returns the aborted transactions in what it read. Control batches are returned too.
    - fetch.max.bytes and response.bytes.max bound the records of the response.
    - A client beyond its consumer_byte_rate gets an empty response and is throttled; its session
      continues. One response carries no more than its quota allows in a burst.

Gaps:
    - Followers do not fetch, since replicas share one log. OFFSET_NOT_AVAILABLE does not occur.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import (
    NO_SESSION_ID,
    CachedPartition,
    FetchPartitionData,
    SentPartition,
    must_send,
)
from broker.cluster.partition_log import PartitionLog
from broker.cluster.topics import Partition
from broker.config.api_versions import release_of
from broker.fetch.fetch_context import TOPIC_ID_VERSION_MIN, FetchContext, open_fetch_context
from broker.fetch.partition_read import (
    FetchParams,
    WaitingBytes,
    find_partition,
    read_partitions,
    unknown_error,
)
from broker.fetch.short_response import encode_sent
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.request.throttling import (
    SIZE_BYTES,
    charge_fetch,
    charge_time,
    fetch_bytes_max,
    records_bytes_max,
)
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_body
from protocol.errors import ErrorCode
from protocol.fetch import (
    PARTITIONS_MAX,
    ShortFetch,
    encode_response,
    encode_topics,
    read_fetch,
)
from protocol.pacing import current_turn, paced_elements
from protocol.releases import Release

SESSION_VERSION_MIN = 7
ZSTD_VERSION_MIN = 10
ZSTD_FOR_ALL_SINCE: Release = (4, 0)
"""Brokers of older releases convert batches for old clients, and have to refuse these."""
RACK_VERSION_MIN = 11
REPLICA_STATE_VERSION_MIN = 15
LEADER_VERSION_MIN = 16
CONSUMER_REPLICA_ID = -1
READ_COMMITTED = 1
_ISOLATION_LEVELS = frozenset({0, READ_COMMITTED})

_Response = messages.FetchResponse
_TopicResponse = _Response.FetchableTopicResponse
_PartitionData = _TopicResponse.PartitionData
_MOVED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


@dataclass(slots=True)
class _Fetch:
    """A request with its session, and the partitions that exist and that do not."""

    context: RequestContext
    request: Any
    cluster: Cluster
    params: FetchParams
    session: FetchContext
    known: list[CachedPartition]
    unknown: list[SentPartition]

    @property
    def is_short(self) -> bool:
        """Whether it has few partitions, so that it takes no turns."""
        return isinstance(self.request, ShortFetch) and len(self.known) <= PARTITIONS_MAX

    def in_turns(self, work: Callable[[], None]) -> None:
        """Carry out what a timer does for it: at once, if it is short."""
        if self.is_short:
            work()
        else:
            self.cluster.in_turns(work)


@handles(ApiKey.FETCH, read_short=read_fetch)
def handle_fetch(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `KafkaApis.handleFetchRequest` and `ReplicaManager.fetchMessages`."""
    session = open_fetch_context(context, request, cluster)
    known = session.partitions
    unknown = [
        (cached, FetchPartitionData(unknown_error(cached), aborted_transactions=()))
        for cached in paced_elements(known)
        if find_partition(cluster, cached) is None
    ]
    if unknown:
        missing = {cached for cached, _data in unknown}
        known = [cached for cached in paced_elements(known) if cached not in missing]
    if known and request.isolation_level not in _ISOLATION_LEVELS:
        return _failed(context.api_version, request)
    params = _params(context, request, cluster)
    fetch = _Fetch(context, request, cluster, params, session, known, unknown)
    result = read_partitions(cluster, params, known, omit_unchanged=session.session is not None)
    if not known or request.max_wait_ms <= 0 or result.is_final:
        return _respond(fetch, result.partitions, context.now_ms)
    return _wait(fetch, result.partitions)


def _failed(version: int, request: Any) -> Any:
    """Return Kafka's response to a request that it loses to an exception.

    From v13 the error of the response is enough; before, each partition of the request has it.
    """
    error_code = ErrorCode.UNKNOWN_SERVER_ERROR
    response = _Response(version=version, error_code=error_code, responses=[])
    if version >= SESSION_VERSION_MIN:
        response.session_id = request.session_id
    if version >= TOPIC_ID_VERSION_MIN:
        return response
    no_data = FetchPartitionData(error_code, aborted_transactions=())
    response.responses = [
        _TopicResponse(
            version=version,
            topic=topic.topic,
            partitions=[
                _partition_data(
                    CachedPartition(topic.topic, None, partition.partition, 0, 0), no_data, version
                )
                for partition in paced_elements(topic.partitions)
            ],
        )
        for topic in paced_elements(request.topics)
    ]
    return response


def _params(context: RequestContext, request: Any, cluster: Cluster) -> FetchParams:
    version, broker_id = context.api_version, context.broker_id
    replica_id: int = CONSUMER_REPLICA_ID
    if version < REPLICA_STATE_VERSION_MIN:
        replica_id = request.replica_id
    elif request.replica_state is not None:
        replica_id = request.replica_state.replica_id
    is_from_follower = replica_id >= 0
    if is_from_follower:
        bytes_max: int = records_bytes_max(cluster, request.max_bytes)
    else:
        bytes_max = fetch_bytes_max(context, cluster, request.max_bytes)
    rack_id = "" if is_from_follower or version < RACK_VERSION_MIN else request.rack_id
    if rack_id and not cluster.config.for_broker(broker_id)["replica.selector.class"]:
        rack_id = ""
    return FetchParams(
        broker_id=broker_id,
        bytes_max=bytes_max,
        bytes_min=min(request.min_bytes, bytes_max),
        replica_id=replica_id,
        rack_id=rack_id,
        requires_leader=is_from_follower
        or (replica_id == CONSUMER_REPLICA_ID and version < RACK_VERSION_MIN),
        reads_committed=not is_from_follower and request.isolation_level == READ_COMMITTED,
        supports_zstd=version >= ZSTD_VERSION_MIN
        or release_of(cluster.config.for_broker(broker_id)) >= ZSTD_FOR_ALL_SINCE,
    )


def _wait(fetch: _Fetch, read: list[SentPartition]) -> PendingResponse:
    """Wait for new records or the end of `max_wait_ms`; `read` is too little."""
    context, cluster, known = fetch.context, fetch.cluster, fetch.known
    timers = cluster.timers
    waiting_bytes = WaitingBytes(cluster, fetch.params, read)
    waits: list[tuple[PartitionLog, Callable[[int], None]]] = []
    is_due = False

    def forget() -> None:
        timers.cancel(deadline)
        for log, waiter in waits:
            log.waiters.pop(waiter, None)
        waits.clear()  # they refer to this function: reference counting frees the request

    def finish(now_ms: int) -> None:
        forget()
        fetch.in_turns(lambda: respond(now_ms))

    def respond(now_ms: int) -> None:
        # Partitions may have moved or been deleted since then: they are checked again.
        result = read_partitions(
            cluster, fetch.params, known, omit_unchanged=fetch.session.session is not None
        )
        pending.complete(_respond(fetch, result.partitions, now_ms))

    def look_again(cached: CachedPartition, now_ms: int) -> None:
        nonlocal is_due
        if not is_due and waiting_bytes.is_enough_with(cached):
            # Respond after the request that woke this one, with all records that it appended.
            is_due = True
            timers.schedule(now_ms, finish)

    pending = PendingResponse(on_cancel=forget, on_force_complete=finish)
    deadline = timers.schedule(context.now_ms + fetch.request.max_wait_ms, finish)
    for cached in known:
        partition = find_partition(cluster, cached)
        if partition is not None:
            waiter = partial(look_again, cached)
            waits.append((partition.log, waiter))
            partition.log.waiters[waiter] = None
    turn = current_turn()
    if turn is not None and turn.is_long:
        # The read may have paused: nobody woke this request for what came then.
        for cached in paced_elements(known):
            if not pending.is_done:
                look_again(cached, context.now_ms)
    return pending


def _respond(fetch: _Fetch, read: list[SentPartition], now_ms: int) -> Any:
    """Return what was read, or nothing and a wait for a client that has had too much already."""
    context, cluster, session = fetch.context, fetch.cluster, fetch.session
    sent = [*read, *fetch.unknown] if fetch.unknown else read
    if session.session is not None:
        if session.is_current:
            sent = [
                (cached, data) for cached, data in paced_elements(sent) if must_send(cached, data)
            ]
        else:
            sent = []
    topics = _short_topics(fetch, sent)
    if topics is not None:
        return _respond_short(fetch, sent, topics, now_ms)
    response = _response(fetch, sent)
    body = None
    if fetch.params.is_from_follower:
        charge_time(context, cluster, now_ms, is_exempt=True)
    elif cluster.quotas.clients.is_enabled:
        body = encode_body(response, context.api_version)
        if not charge_fetch(context, cluster, len(body) + SIZE_BYTES, now_ms):
            response.responses = []
            return response
    session_id = _note_sent(fetch, sent, now_ms)
    if session_id != response.session_id:
        response.session_id = session_id
        return response
    return response if body is None else body


def _short_topics(fetch: _Fetch, sent: list[SentPartition]) -> list[bytes] | None:
    """Return the encoded topics of the response to a short request, if that has no rare fields."""
    if not fetch.is_short or not fetch.session.is_current:
        return None
    version = fetch.context.api_version
    if version >= LEADER_VERSION_MIN and any(data.error_code in _MOVED for _cached, data in sent):
        return None
    return encode_sent(version, sent)


def _respond_short(
    fetch: _Fetch, sent: list[SentPartition], topics: list[bytes], now_ms: int
) -> bytes:
    """Return the body of the response to a short request."""
    context, session = fetch.context, fetch.session
    version, error_code = context.api_version, session.error_code
    session_id = NO_SESSION_ID if session.session is None else session.session.session_id
    if not fetch.params.is_from_follower and fetch.cluster.quotas.clients.is_enabled:
        body_bytes = sum(map(len, topics)) + len(encode_response(version, error_code, 0, ()))
        if not charge_fetch(context, fetch.cluster, body_bytes + SIZE_BYTES, now_ms):
            return encode_response(version, error_code, session_id, encode_topics(version, ()))
    session_id = _note_sent(fetch, sent, now_ms)
    return encode_response(version, error_code, session_id, topics)


def _note_sent(fetch: _Fetch, sent: list[SentPartition], now_ms: int) -> int:
    """Note in the session what is sent, or open one if asked to; return the id of the session."""
    session = fetch.session
    if session.opens_session:
        return fetch.cluster.fetch_sessions[fetch.context.broker_id].create(
            sent,
            now_ms,
            is_privileged=fetch.params.is_from_follower,
            uses_topic_ids=fetch.context.api_version >= TOPIC_ID_VERSION_MIN,
        )
    if session.session is None:
        return NO_SESSION_ID
    if session.is_current:
        session.session.note_sent(sent)
    return session.session.session_id


def _response(fetch: _Fetch, sent: list[SentPartition]) -> Any:
    """Return the message: a topic entry for each run of partitions of the same topic."""
    version, session = fetch.context.api_version, fetch.session
    responses: list[Any] = []
    moved: list[Partition] = []
    last: CachedPartition | None = None
    for cached, data in paced_elements(sent):
        entry = _partition_data(cached, data, version)
        if version >= LEADER_VERSION_MIN and data.error_code in _MOVED:
            partition = find_partition(fetch.cluster, cached)
            if partition is not None:
                moved.append(partition)
                entry.current_leader = _PartitionData.LeaderIdAndEpoch(
                    leader_id=partition.leader_id, leader_epoch=partition.leader_epoch
                )
        if last is None or not _is_same_topic(last, cached):
            topic: Any = cached.topic_name if version < TOPIC_ID_VERSION_MIN else ""
            topic_id: Any = cached.topic_id
            responses.append(
                _TopicResponse(version=version, topic=topic, topic_id=topic_id, partitions=[])
            )
        responses[-1].partitions.append(entry)
        last = cached
    error_code = session.error_code
    if not session.is_current:
        error_code = ErrorCode.INVALID_FETCH_SESSION_EPOCH
    response = _Response(
        version=version,
        throttle_time_ms=0,
        error_code=error_code,
        session_id=NO_SESSION_ID if session.session is None else session.session.session_id,
        responses=responses,
    )
    if moved:
        response.node_endpoints = _node_endpoints(fetch, {leader.leader_id for leader in moved})
    return response


def _is_same_topic(one: CachedPartition, other: CachedPartition) -> bool:
    if one.topic_id is None:
        return one.topic_name == other.topic_name
    return one.topic_id is other.topic_id or one.topic_id == other.topic_id


def _partition_data(cached: CachedPartition, data: FetchPartitionData, version: int) -> Any:
    entry = _PartitionData(
        version=version,
        partition_index=cached.partition_index,
        error_code=data.error_code,
        high_watermark=data.high_watermark,
        last_stable_offset=data.last_stable_offset,
        log_start_offset=data.log_start_offset,
        aborted_transactions=_aborted(data, version),
        preferred_read_replica=data.preferred_read_replica,
        records=data.records,
    )
    if data.diverging_epoch is not None:
        epoch, end_offset = data.diverging_epoch
        entry.diverging_epoch = _PartitionData.EpochEndOffset(epoch=epoch, end_offset=end_offset)
    return entry


def _aborted(data: FetchPartitionData, version: int) -> list[Any] | None:
    if data.aborted_transactions is None:
        return None
    return [
        _PartitionData.AbortedTransaction(
            version=version,
            producer_id=transaction.producer_id,
            first_offset=transaction.first_offset,
        )
        for transaction in data.aborted_transactions
    ]


def _node_endpoints(fetch: _Fetch, node_ids: set[int]) -> list[Any]:
    return [
        _Response.NodeEndpoint(
            node_id=broker.node_id, host=address.host, port=address.port, rack=broker.rack
        )
        for broker, address in fetch.cluster.addresses(fetch.context.session.listener)
        if broker.node_id in node_ids
    ]
