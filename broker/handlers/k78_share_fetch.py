"""ShareFetch: v1-2.

Behaviour:
    - Delivers records to a member of a share group, and locks them for
      share.record.lock.duration.ms. A record is acquired by one member at a time. Its
      acknowledgements may come with the next fetch, and are taken before it.
    - A share session names the partitions: epoch 0 opens it, -1 closes it and releases what the
      member has acquired, as the end of its connection does. Errors: SHARE_SESSION_NOT_FOUND,
      INVALID_SHARE_SESSION_EPOCH, and after max_wait_ms SHARE_SESSION_LIMIT_REACHED.
    - Waits for min_bytes or max_wait_ms, without polling. Records that are released, or whose lock
      expires, wake a fetch as new ones do.
    - max_records is a soft limit: a batch of the log is acquired to its end. With
      share_acquire_mode 1 (v2, KIP-1206) it is a hard limit. batch_size is the number of records
      from which on acquired records are split into batches.
    - A request with is_renew_ack (v2, KIP-1222) renews the locks of records, and fetches nothing.
    - At most group.share.partition.max.record.locks records of a partition are in flight. After
      group.share.delivery.count.limit deliveries a record is archived. Since Kafka 4.2 records that
      were delivered half as often come in small numbers, and alone the last time.
    - A new group begins at share.auto.offset.reset. With share.isolation.level read_committed the
      last stable offset bounds the read, and records of aborted transactions are archived.
    - Since Kafka 4.2 a request for no records or no bytes ends at once. A negative max_bytes, and
      before 4.2 none, is an UNKNOWN_SERVER_ERROR of each partition.
    - With max_records, partitions are read in an order that rotates with the session epoch.
    - A partition led by another broker gets NOT_LEADER_OR_FOLLOWER with the leader's address.
    - If a partition's topic does not exist (any more), the request gets UNKNOWN_SERVER_ERROR, since
      Kafka 4.2 the partition UNKNOWN_TOPIC_ID.
    - GROUP_AUTHORIZATION_FAILED for a client that may not read the group. The partitions of a topic
      that it may not read get TOPIC_AUTHORIZATION_FAILED with each response. With an authorizer an
      unknown topic id gets UNKNOWN_SERVER_ERROR for the request.
    - UNSUPPORTED_VERSION unless the feature share.version is 1.
    - A client beyond its consumer_byte_rate gets an empty response and is throttled.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from uuid import UUID

from broker.authorization.checks import READ_GROUP, READ_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.share_loading import are_share_groups_enabled
from broker.cluster.topics import Partition
from broker.config.api_versions import release_of
from broker.errors import Refusal
from broker.fetch.partition_read import FetchParams
from broker.fetch.share_acknowledge import (
    RECORD_LOCK_DURATION_KEY,
    AcknowledgeResult,
    acknowledge_topics,
    denied_topics,
    request_error,
)
from broker.fetch.share_fetch import (
    ShareFetch,
    ShareFetchResult,
    SharePartitionData,
    fetch_or_wait,
)
from broker.pending_response import PendingResponse
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.request.throttling import SIZE_BYTES, charge_fetch, fetch_bytes_max
from broker.routes import handles
from broker.share_groups.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_TOPIC_ID,
    ShareSession,
    ShareSessionKey,
    TopicIdPartition,
    not_found,
)
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_body
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, int_hash, topic_partition_hash, uuid_hash
from protocol.pacing import may_pause, paced_elements
from protocol.releases import Release

ISOLATION_LEVEL_KEY = "share.isolation.level"
SAYS_WHY_SINCE: Release = (4, 2)
"""First release that sends the messages of refused acknowledgements."""
COUNTS_UNKNOWN_TOPICS_SINCE: Release = (4, 2)
BATCH_OPTIMIZED, RECORD_LIMIT = ACQUIRE_MODES = range(2)
"""Acquire modes of a request (KIP-1206)."""

_Response = messages.ShareFetchResponse
_TopicResponse = _Response.ShareFetchableTopicResponse
_PartitionData = _TopicResponse.PartitionData
_INT_BITS = 0xFFFFFFFF
_MOVED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


@handles(ApiKey.SHARE_FETCH, checks=(READ_GROUP, READ_TOPIC))
@may_pause
def handle_share_fetch(
    context: RequestContext, request: "messages.ShareFetchRequest", cluster: Cluster
) -> object:
    """Kafka's `KafkaApis.handleShareFetchRequest`."""
    if not are_share_groups_enabled(cluster):
        return _error(ErrorCode.UNSUPPORTED_VERSION)
    group_id = request.group_id
    if group_id is not None and not is_allowed(context, cluster, READ_GROUP, group_id):
        return _error(READ_GROUP.error_code)
    release = release_of(cluster.config.for_broker(context.broker_id))
    error_code = request_error(release, request.group_id, request.member_id)
    if error_code is not ErrorCode.NONE:
        return _error(error_code)
    if request.is_renew_ack and _asks_for_records(request):
        return _error(ErrorCode.INVALID_REQUEST)
    key = ShareSessionKey(request.group_id or "", request.member_id or "")
    session = _open_session(context, key, request, cluster)
    if isinstance(session, Refusal):
        if session.error_code is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            return _respond_later(cluster, context.now_ms + request.max_wait_ms, session)
        return _error(session.error_code)
    denied = denied_topics(context, cluster, _topic_ids(request, session))
    if denied is None:
        return _error(ErrorCode.UNKNOWN_SERVER_ERROR)
    acknowledged: AcknowledgeResult = {}
    if _has_acknowledgements(request):
        acknowledged = acknowledge_topics(
            cluster,
            context.broker_id,
            key.group_id,
            key.member_id,
            request.topics,
            context.now_ms,
            may_renew=request.is_renew_ack,
            denied=denied,
        )
    if request.share_session_epoch == FINAL_EPOCH:
        response = _response(context, key.group_id, cluster, {}, acknowledged)
        cluster.share.leaders[context.broker_id].close_session(session, context.now_ms)
        return response
    if request.is_renew_ack:
        return _respond(
            context, request, cluster, session, session.epoch, {}, acknowledged, context.now_ms
        )
    return _fetch_allowed(context, request, cluster, session, denied, acknowledged)


@may_pause
def _fetch_allowed(
    context: RequestContext,
    request: "messages.ShareFetchRequest",
    cluster: Cluster,
    session: ShareSession,
    denied: AbstractSet[UUID],
    acknowledged: AcknowledgeResult,
) -> object:
    """Fetch from the topics of a session but the denied ones, which have their error."""
    epoch = session.epoch
    partitions = list(session.partitions)
    refused: ShareFetchResult = {}
    if denied:
        refused = {
            partition: SharePartitionData(READ_TOPIC.error_code)
            for partition in paced_elements(partitions)
            if partition.topic_id in denied
        }
        partitions = [found for found in paced_elements(partitions) if found not in refused]

    def respond(result: ShareFetchResult, now_ms: int) -> _Response | bytes | bytearray:
        found = {**result, **refused} if refused else result
        return _respond(context, request, cluster, session, epoch, found, acknowledged, now_ms)

    if request.share_acquire_mode not in ACQUIRE_MODES and _has_known(partitions, cluster):
        return _error(ErrorCode.UNKNOWN_SERVER_ERROR)
    fetch = _fetch(context, request, cluster, session, partitions)
    return fetch_or_wait(fetch, respond, context.now_ms)


@may_pause
def _topic_ids(request: "messages.ShareFetchRequest", session: ShareSession) -> Iterator[UUID]:
    """Yield the topics that the request names, and those of the session."""
    for topic in paced_elements(request.topics):
        if topic.partitions:
            yield topic.topic_id or NO_TOPIC_ID
    if request.share_session_epoch != FINAL_EPOCH:
        for partition in paced_elements(list(session.partitions)):
            yield partition.topic_id


@may_pause
def _has_known(partitions: Sequence[TopicIdPartition], cluster: Cluster) -> bool:
    topics = cluster.topics
    return any(
        (topic := topics.get_by_id(topic_id)) is not None and topic.partition(index) is not None
        for topic_id, index in paced_elements(partitions)
    )


def _asks_for_records(request: "messages.ShareFetchRequest") -> bool:
    """Return whether a request is more than its acknowledgements."""
    limits = request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms
    return any(limits)


@may_pause
def _open_session(
    context: RequestContext,
    key: ShareSessionKey,
    request: "messages.ShareFetchRequest",
    cluster: Cluster,
) -> ShareSession | Refusal:
    """Take the request into the session of the member; return the session, or why there is none."""
    sessions = cluster.share.leaders[context.broker_id].sessions
    requested = _partitions(request.topics)
    epoch = request.share_session_epoch
    if epoch == FINAL_EPOCH:
        return sessions.get(key) or not_found()
    if epoch == INITIAL_EPOCH:
        if _has_acknowledgements(request):
            return Refusal(ErrorCode.INVALID_REQUEST, None)
        # The session copies the keys, whose hashes are known then.
        partitions = dict.fromkeys(paced_elements(requested))
        if len(partitions) < len(requested):
            sessions.forget(key)
            return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, "A partition is named twice.")
        return sessions.open(key, partitions, context.connection_id)
    forgotten = [
        TopicIdPartition(topic.topic_id or NO_TOPIC_ID, index)
        for topic in paced_elements(request.forgotten_topics_data)
        for index in paced_elements(topic.partitions)
    ]
    return sessions.resume(key, epoch, paced_elements(requested), paced_elements(forgotten))


@may_pause
def _partitions(topics: list["messages.ShareFetchRequest.FetchTopic"]) -> list[TopicIdPartition]:
    return [
        TopicIdPartition(topic.topic_id or NO_TOPIC_ID, partition.partition_index)
        for topic in paced_elements(topics)
        for partition in paced_elements(topic.partitions)
    ]


@may_pause
def _has_acknowledgements(request: "messages.ShareFetchRequest") -> bool:
    return any(
        partition.acknowledgement_batches
        for topic in paced_elements(request.topics)
        for partition in paced_elements(topic.partitions)
    )


def _fetch(
    context: RequestContext,
    request: "messages.ShareFetchRequest",
    cluster: Cluster,
    session: ShareSession,
    partitions: Sequence[TopicIdPartition],
) -> ShareFetch:
    bytes_max = fetch_bytes_max(context, cluster, request.max_bytes)
    isolation_level = cluster.share.setting(session.key.group_id, ISOLATION_LEVEL_KEY)
    return ShareFetch(
        cluster,
        FetchParams(
            broker_id=context.broker_id,
            bytes_max=bytes_max,
            bytes_min=min(request.min_bytes, bytes_max),
            reads_committed=isolation_level == "read_committed",
            takes_turns=True,
        ),
        session.key.group_id,
        session.key.member_id,
        _rotated(partitions, request.share_session_epoch),
        request.max_wait_ms,
        request.max_records,
        request.batch_size,
        is_record_limit=request.share_acquire_mode == RECORD_LIMIT,
    )


def _rotated(
    partitions: Sequence[TopicIdPartition], session_epoch: int
) -> Sequence[TopicIdPartition]:
    """Return the partitions beginning with another one in each epoch."""
    if len(partitions) < 2 or session_epoch < 1:
        return partitions
    first = session_epoch % len(partitions)
    return [*partitions[first:], *partitions[:first]]


def _respond_later(cluster: Cluster, due_ms: int, refusal: Refusal) -> PendingResponse:
    """Return an error after the time that the client was ready to wait."""

    def finish(_now_ms: int) -> None:
        cluster.timers.cancel(timer)
        pending.complete(_error(refusal.error_code))

    def forget() -> None:
        cluster.timers.cancel(timer)

    pending = PendingResponse(on_cancel=forget, on_force_complete=finish)
    timer = cluster.timers.schedule(due_ms, finish)
    return pending


@may_pause
def _respond(
    context: RequestContext,
    request: "messages.ShareFetchRequest",
    cluster: Cluster,
    session: ShareSession,
    epoch: int,
    result: ShareFetchResult,
    acknowledged: AcknowledgeResult,
    now_ms: int,
) -> _Response | bytes | bytearray:
    """Return what was acquired, or nothing and a wait for a client that has had too much."""
    if session.epoch != epoch:
        return _error(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    sent = result
    if request.share_session_epoch != INITIAL_EPOCH:
        # A response to a full request has all partitions.
        sent = {
            partition: data
            for partition, data in paced_elements(tuple(result.items()))
            if session.take_into_response(
                partition, data.error_code, has_records=bool(data.records)
            )
        }
    if release_of(
        cluster.config.for_broker(context.broker_id)
    ) < COUNTS_UNKNOWN_TOPICS_SINCE and any(
        cluster.topics.get_by_id(p.topic_id) is None for p in paced_elements(tuple(sent))
    ):
        # Kafka 4.1 fails when it counts the bytes of a topic whose name it does not know.
        return _error(ErrorCode.UNKNOWN_SERVER_ERROR)
    response = _response(context, session.key.group_id, cluster, sent, acknowledged)
    if not cluster.quotas.clients.is_enabled:
        return response
    body = encode_body(response, context.api_version)
    if not charge_fetch(context, cluster, len(body) + SIZE_BYTES, now_ms):
        return _response(context, session.key.group_id, cluster, {}, acknowledged)
    return body


@may_pause
def _response(
    context: RequestContext,
    group_id: str,
    cluster: Cluster,
    sent: ShareFetchResult,
    acknowledged: AcknowledgeResult,
) -> _Response:
    entries: dict[UUID, dict[int, _PartitionData]] = {}
    moved: list[Partition] = []
    for topic_id, index in _in_kafkas_order(sent, cluster):
        data = sent[TopicIdPartition(topic_id, index)]
        entry = entries.setdefault(topic_id, {})[index] = _entry(index, data)
        topic = cluster.topics.get_by_id(topic_id)
        partition = None if topic is None else topic.partition(index)
        if data.error_code in _MOVED and partition is not None:
            moved.append(partition)
            entry.current_leader = _PartitionData.LeaderIdAndEpoch(
                leader_id=partition.leader_id, leader_epoch=partition.leader_epoch
            )
    release = release_of(cluster.config.for_broker(context.broker_id))
    has_messages = release >= SAYS_WHY_SINCE
    for topic_id, index in _by_topic(acknowledged):
        refusal = acknowledged[TopicIdPartition(topic_id, index)]
        by_index = entries.setdefault(topic_id, {})
        entry = by_index.setdefault(index, _entry(index, SharePartitionData()))
        if refusal is not None:
            entry.acknowledge_error_code = refusal.error_code
            if has_messages:
                entry.acknowledge_error_message = refusal.error_message
    leader_ids = {partition.leader_id for partition in moved}
    return _Response(
        acquisition_lock_timeout_ms=cluster.share.setting(group_id, RECORD_LOCK_DURATION_KEY),
        responses=[
            _TopicResponse(topic_id=topic_id, partitions=list(by_index.values()))
            for topic_id, by_index in paced_elements(tuple(entries.items()))
        ],
        node_endpoints=[
            _Response.NodeEndpoint(
                node_id=broker.node_id, host=address.host, port=address.port, rack=broker.rack
            )
            for broker, address in cluster.addresses(context.session.listener)
            if broker.node_id in leader_ids
        ],
    )


@may_pause
def _by_topic(acknowledged: AcknowledgeResult) -> list[TopicIdPartition]:
    """Return the partitions in the order of the maps in which Kafka collects them by topic."""
    indexes: dict[UUID, list[int]] = {}
    for topic_id, index in paced_elements(tuple(acknowledged)):
        indexes.setdefault(topic_id, []).append(index)
    return [
        TopicIdPartition(topic_id, index)
        for topic_id in in_hash_order(indexes, uuid_hash)
        for index in in_hash_order(sorted(indexes[topic_id]), int_hash)
    ]


@may_pause
def _in_kafkas_order(sent: ShareFetchResult, cluster: Cluster) -> Sequence[TopicIdPartition]:
    """Return the partitions in the order of the map by which Kafka collects them."""

    def hash_of(partition: TopicIdPartition) -> int:
        topic = cluster.topics.get_by_id(partition.topic_id)
        name_hash = topic_partition_hash("" if topic is None else topic.name, partition[1])
        return 31 * (31 + uuid_hash(partition.topic_id)) + name_hash & _INT_BITS

    return in_hash_order(sent, hash_of) if len(sent) > 1 else tuple(sent)


@may_pause
def _entry(partition_index: int, data: SharePartitionData) -> _PartitionData:
    return _PartitionData(
        partition_index=partition_index,
        error_code=data.error_code,
        records=data.records,
        current_leader=_PartitionData.LeaderIdAndEpoch(),
        acquired_records=[
            _PartitionData.AcquiredRecords(
                first_offset=acquired.first_offset,
                last_offset=acquired.last_offset,
                delivery_count=acquired.delivery_count,
            )
            for acquired in paced_elements(data.acquired)
        ],
    )


def _error(error_code: ErrorCode) -> _Response:
    return _Response(error_code=error_code, responses=[], node_endpoints=[])
