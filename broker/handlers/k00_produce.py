"""Produce: v3-13.

Behaviour:
    - One record batch per partition. `batch_check` and `record_check` check the batch and its
      records, also compressed ones, then the producer's sequence is checked, then the batch is
      appended: as it was sent, or with another compression.type, or with the largest timestamp
      that its records have, or as CreateTime if it claims LogAppendTime. Each partition
      succeeds or fails alone, in request order. Of several batches for one partition the last valid
      one is appended; the result is that of the last invalid one, if there is any.
    - A batch that has no length or format, and a transactional batch in a request without a
      transactional id, fail the request: nothing is appended.
    - acks=-1 needs min.insync.replicas in-sync replicas, or all that the partition has if these are
      fewer, else NOT_ENOUGH_REPLICAS and nothing is appended. Replicas share the log, so there is
      nothing to wait for. acks=1 needs the leader.
    - acks=0 gets no response. An error closes the connection, as in Kafka; a duplicate is ignored.
      Any other acks gets INVALID_REQUIRED_ACKS.
    - A topic needs WRITE, else its partitions get TOPIC_AUTHORIZATION_FAILED, also if there is no
      such topic. A topic id that is unknown gets UNKNOWN_TOPIC_ID. Transactional batches need WRITE
      on the transactional id.
    - Internal topics take batches of the client id __admin_client only; other clients get
      INVALID_TOPIC_EXCEPTION. Coordinators read no batch that a client wrote.
    - A broker that does not lead the partition says NOT_LEADER_OR_FOLLOWER, from v10 with the
      leader's id and address. v13 names topics by id.
    - ApiVersions advertises version 0, because older librdkafka switches compression off otherwise
      (KAFKA-18659). Versions 0 to 2 close the connection, as in Kafka 4.
    - producer_byte_rate counts the whole request, after the append. The client is throttled, with
      acks=0 as well.
    - producer_ids_rate (KIP-936) limits new producer ids of a user. A batch of an id beyond the
      quota gets THROTTLING_QUOTA_EXCEEDED, or NOT_ENOUGH_REPLICAS for client libraries known to
      fail the batch on that error (producer.id.quota.error.code). It is not appended, the id is not
      remembered, and the client is throttled. Other ids in the request are not affected. Batches
      that the client sent behind a refused one are refused too, until it retries that one.
    - A transactional batch needs a transactional id in the request, and the right to it, else all
      partitions get TRANSACTIONAL_ID_AUTHORIZATION_FAILED. With batches of several producer ids in
      transactions all get INVALID_PRODUCER_ID_MAPPING.
    - The first batch of a transaction in a partition is verified with the coordinator (KIP-890).
      From v12 on that adds the partition to the transaction. Before, a partition that was not added
      gets TRANSACTION_ABORTABLE (v11) or INVALID_TXN_STATE, unless
      transaction.partition.verification.enable is off. If the coordinator cannot be asked, the
      error is NOT_ENOUGH_REPLICAS. A fenced producer gets INVALID_PRODUCER_EPOCH.

Gaps:
    - A batch of a transaction whose predecessor is still being ended gets CONCURRENT_TRANSACTIONS
      at once from v12 on. Kafka tries for add.partitions.to.txn.retry.backoff.max.ms first; the
      client tries again in both cases.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from broker.authorization.checks import WRITE_TOPIC, WRITE_TRANSACTIONAL_ID
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.produce.append import accept_batches, refused
from broker.produce.batch_refusal import BatchRefusal
from broker.produce.request_batches import (
    NOTHING_REFUSED,
    PartitionKey,
    ReadTopic,
    read_batches,
)
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.request.throttling import charge_produce
from broker.responses import Close
from broker.routes import handles
from protocol import produce, produce_decoder
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY, may_pause, paced, paced_elements
from protocol.produce import (
    FLEXIBLE_VERSION_MIN,
    AppendedFields,
    NodeEndpoint,
    PartitionResult,
    ResultFields,
    TopicResultFields,
    encode_appended,
    partition_results,
)
from protocol.produce_decoder import TopicBatches

_NONE = ErrorCode.NONE
_UNREAD = frozenset(
    {
        WRITE_TOPIC.error_code,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""The errors of partitions at whose batches nobody looks."""


# Hot path.
@handles(ApiKey.PRODUCE, is_raw=True, checks=(WRITE_TOPIC, WRITE_TRANSACTIONAL_ID))
@may_pause
def handle_produce(
    context: RequestContext,
    frame: bytes | bytearray,
    start: int,
    end: int,
    cluster: Cluster,
) -> bytes | bytearray | Close | None:
    """Kafka's `KafkaApis.handleProduceRequest` and `ReplicaManager.appendRecords`."""
    version = context.api_version
    transactional_id, acks, _timeout_ms, requested, is_plain = produce_decoder.decode_batches(
        version, frame, start, end
    )
    topics: Sequence[ReadTopic] = requested
    topic_results: list[TopicResultFields] = []
    refused_partitions, has_error = NOTHING_REFUSED, False
    if not is_plain:
        batches = read_batches(context, requested, transactional_id, cluster, frame)
        if isinstance(batches, BatchRefusal):
            topics, topic_results, has_error = (), _failed(requested, batches), True
        else:
            topics, refused_partitions = batches
    stored: list[tuple[str, UUID | None, AppendedFields]] = []
    find_topic, has_authorizer = cluster.topics.find, cluster.authorizer is not None
    for name, topic_id, parts in topics if len(topics) <= LOOK_EVERY else paced_elements(topics):
        topic = find_topic(name, topic_id)
        if topic is not None and topic.by_broker:
            topic = topic.on_broker(context.broker_id)
        error_code = _NONE
        if topic is None or has_authorizer:
            error_code = _topic_error(context, cluster, topic, name, topic_id)
        if topic is None or error_code != _NONE:
            results: list[ResultFields] = [
                PartitionResult(part[0], error_code) for part in paced_elements(parts)
            ]
            has_error = True
        else:
            appended, refusals = accept_batches(
                context, cluster, topic, parts, frame, acks, transactional_id, is_plain
            )
            if not (refusals or topic_results or refused_partitions):
                stored.append((name, topic_id, appended))
                continue
            results = partition_results(appended, refusals)
            has_error = has_error or bool(refusals)
        if refused_partitions:
            key = topic_id or name
            results = [_merged(result, refused_partitions, key) for result in paced(results)]
            has_error = True
        topic_results.append((name, topic_id, results))
    if cluster.quotas.clients.is_enabled:
        charge_produce(context, cluster, expects_response=acks != 0)
    if acks and not topic_results and version >= FLEXIBLE_VERSION_MIN:
        return encode_appended(version, stored, context.throttle_time_ms)
    topic_results[:0] = [
        (name, topic_id, partition_results(appended, []))
        for name, topic_id, appended in paced(stored)
    ]
    return encode_results(context, cluster, acks, topic_results, has_error=has_error)


def _topic_error(
    context: RequestContext,
    cluster: Cluster,
    topic: Topic | None,
    name: str,
    topic_id: UUID | None,
) -> ErrorCode:
    """Return why nobody looks at the batches for a topic, or NONE."""
    if topic is None and topic_id is not None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not is_allowed(context, cluster, WRITE_TOPIC, name if topic is None else topic.name):
        return WRITE_TOPIC.error_code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else _NONE


@may_pause
def encode_results(
    context: RequestContext,
    cluster: Cluster,
    acks: int,
    topic_results: Sequence[TopicResultFields],
    *,
    has_error: bool,
) -> bytes | bytearray | Close | None:
    """Return the body of a response; with acks=0 there is none, or the end of the connection."""
    if acks == 0:
        reason = _acks_0_reason(topic_results) if has_error else None
        return Close(reason) if reason is not None else None
    endpoints = _leader_endpoints(context, topic_results, cluster) if has_error else ()
    return produce.encode_response(
        context.api_version,
        topic_results,
        context.throttle_time_ms,
        endpoints,
        has_error=has_error,
    )


def _merged(
    result: ResultFields, refused_partitions: Mapping[PartitionKey, BatchRefusal], key: str | UUID
) -> ResultFields:
    """Return the result of a partition that may have another batch, which is refused."""
    refusal = refused_partitions.get((key, result[0]))
    if refusal is None or result[1] in _UNREAD:
        return result
    return refused(result[0], refusal)


@may_pause
def _failed(topics: Sequence[TopicBatches], refusal: BatchRefusal) -> list[TopicResultFields]:
    """Return the error of the request for each of its partitions, each once."""
    indexes: dict[str | UUID, tuple[str, UUID | None, dict[int, None]]] = {}
    for name, topic_id, parts in paced_elements(topics):
        for part in paced_elements(parts):
            _, _, found = indexes.setdefault(topic_id or name, (name, topic_id, {}))
            found[part[0]] = None
    return [
        (name, topic_id, [refused(index, refusal) for index in found])
        for name, topic_id, found in indexes.values()
    ]


@may_pause
def _leader_endpoints(
    context: RequestContext, topic_results: Sequence[TopicResultFields], cluster: Cluster
) -> tuple[NodeEndpoint, ...]:
    leader_ids = {
        current_leader[0]
        for _name, _topic_id, results in paced_elements(topic_results)
        for *_, current_leader in paced_elements(results)
        if current_leader is not None
    }
    if not leader_ids:
        return ()
    return tuple(
        NodeEndpoint(broker.node_id, address.host, address.port, broker.rack)
        for broker, address in cluster.addresses(context.session.listener)
        if broker.node_id in leader_ids
    )


@may_pause
def _acks_0_reason(topic_results: Sequence[TopicResultFields]) -> str | None:
    """Return why to close the connection; None when all errors are duplicates (KIP-758)."""
    codes = sorted(
        {
            ErrorCode(result[1]).name
            for _name, _topic_id, results in paced_elements(topic_results)
            for result in paced_elements(results)
            if result[1] not in {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
        }
    )
    return f"Produce with acks=0 failed: {', '.join(codes)}" if codes else None
