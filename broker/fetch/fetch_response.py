"""What a Fetch reads, and its response.

Sources: `KafkaApis.processResponseCallback` and `IncrementalFetchContext`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import (
    NO_SESSION_ID,
    CachedPartition,
    FetchPartitionData,
    SentPartition,
)
from broker.cluster.topics import Partition
from broker.fetch.fetch_context import FetchContext
from broker.fetch.partition_read import FetchParams, find_partition
from broker.fetch.session_logs import SessionLogs
from broker.fetch.short_response import (
    LEADER_VERSION_MIN,
    MOVED,
    encode_only,
    encode_sent,
    no_topics,
)
from broker.request.context import RequestContext
from broker.request.throttling import SIZE_BYTES, charge_fetch, charge_time
from broker.responses import EncodedParts
from protocol import messages
from protocol.codec import encode_body
from protocol.errors import ErrorCode
from protocol.fetch import (
    TOPIC_ID_VERSION_MIN,
    encode_response,
)
from protocol.pacing import may_pause, paced_elements

_Response = messages.FetchResponse
_TopicResponse = _Response.FetchableTopicResponse
_PartitionData = _TopicResponse.PartitionData


@dataclass(slots=True)
class Fetch:
    """A request with its session, and the partitions that exist and that do not.

    `is_short`: it has few partitions and batches, so that it takes no turns. A session with many
    partitions has `logs`.
    """

    context: RequestContext
    cluster: Cluster
    params: FetchParams
    session: FetchContext
    known: list[CachedPartition]
    unknown: list[SentPartition]
    max_wait_ms: int
    is_short: bool
    logs: SessionLogs | None = None

    def lengthen(self) -> None:
        """Have it take turns: it reads very many batches."""
        self.params = replace(self.params, takes_turns=True)
        self.is_short = False

    @may_pause
    def in_turns(self, work: Callable[[], None]) -> None:
        """Carry out what a timer does for it: at once, if it is short."""
        if self.is_short:
            work()
        else:
            self.cluster.in_turns(work)


@may_pause
def respond(fetch: Fetch, read: list[SentPartition], now_ms: int) -> Any:
    """Return what was read, or nothing and a wait for a client that has had too much already."""
    session, version = fetch.session, fetch.context.api_version
    sent = [*read, *fetch.unknown] if fetch.unknown else read
    known = session.session
    body = encoded = None
    if known is not None and len(sent) == 1:
        body = encode_only(version, known.session_id, *sent[0])
    if body is None:
        encoded = encode_sent(version, sent)
    if not session.is_current:  # also if a later request has come during a pause
        return _respond_with_message(fetch, [], now_ms)
    if body is None and encoded is None:
        return _respond_with_message(fetch, sent, now_ms)
    error_code = session.error_code
    if fetch.cluster.quotas.clients.is_enabled:
        start = encode_response(version, error_code, 0, b"")
        body_bytes = len(start) + sum(map(len, encoded[0])) if encoded else len(body or b"")
        if not _may_send(fetch, body_bytes, now_ms):
            session_id = NO_SESSION_ID if known is None else known.session_id
            return encode_response(version, error_code, session_id, no_topics(version))
    session_id = _note_sent(fetch, sent, now_ms)
    if encoded is None:
        return body
    parts, record_bytes = encoded
    parts[0] = encode_response(version, error_code, session_id, parts[0])
    return EncodedParts.of(parts, record_bytes)


def _may_send(fetch: Fetch, body_bytes: int, now_ms: int) -> bool:
    """Charge the quotas of a client for a response; return False if it has to be empty."""
    if fetch.params.is_from_follower:
        charge_time(fetch.context, fetch.cluster, now_ms, is_exempt=True)
        return True
    return charge_fetch(fetch.context, fetch.cluster, body_bytes + SIZE_BYTES, now_ms)


@may_pause
def _respond_with_message(fetch: Fetch, sent: list[SentPartition], now_ms: int) -> Any:
    """Return the response if it has rare fields: an error of its session, or moved leaders."""
    response = _response(fetch, sent)
    body = None
    if fetch.cluster.quotas.clients.is_enabled:
        body = encode_body(response, fetch.context.api_version)
        if not _may_send(fetch, len(body), now_ms):
            response.responses = []
            return response
    # A later request may have come while it was encoded.
    session_id = _note_sent(fetch, sent if fetch.session.is_current else [], now_ms)
    if session_id != response.session_id:
        response.session_id = session_id
        return response
    return response if body is None else body


@may_pause
def _note_sent(fetch: Fetch, sent: list[SentPartition], now_ms: int) -> int:
    """Note in the session what is sent, or open one if asked to; return the id of the session."""
    session = fetch.session
    known = session.session
    if known is not None:
        if sent:
            known.note_sent(sent)
        return known.session_id
    if session.opens_session:
        return fetch.cluster.fetch_sessions[fetch.context.broker_id].create(
            sent,
            now_ms,
            is_privileged=fetch.params.is_from_follower,
            uses_topic_ids=fetch.context.api_version >= TOPIC_ID_VERSION_MIN,
        )
    return NO_SESSION_ID


@may_pause
def _response(fetch: Fetch, sent: list[SentPartition]) -> Any:
    """Return the message: a topic entry for each run of partitions of the same topic."""
    version, session = fetch.context.api_version, fetch.session
    responses: list[Any] = []
    moved: list[Partition] = []
    last: CachedPartition | None = None
    for cached, data in paced_elements(sent):
        entry = partition_data(cached, data, version)
        if version >= LEADER_VERSION_MIN and data.error_code in MOVED:
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


def partition_data(cached: CachedPartition, data: FetchPartitionData, version: int) -> Any:
    """Return what the message says of a partition."""
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


def _node_endpoints(fetch: Fetch, node_ids: set[int]) -> list[Any]:
    return [
        _Response.NodeEndpoint(
            node_id=broker.node_id, host=address.host, port=address.port, rack=broker.rack
        )
        for broker, address in fetch.cluster.addresses(fetch.context.session.listener)
        if broker.node_id in node_ids
    ]
