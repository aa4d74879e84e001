"""Produce: v3-13.

Behaviour:
    - One record batch per partition, stored as the bytes that were sent. `batch_check` checks the
      batch, then the producer's sequence is checked, then the batch is appended. Each partition
      succeeds or fails alone, in request order. Of several batches for one partition the last valid
      one is appended; the result is that of the last invalid one, if there is any.
    - A batch that has no length or format, and a transactional batch in a request without a
      transactional id, fail the request: nothing is appended.
    - acks=-1 needs min.insync.replicas in-sync replicas, or all that the partition has if these are
      fewer, else NOT_ENOUGH_REPLICAS and nothing is appended. Replicas share the log, so there is
      nothing to wait for. acks=1 needs the leader.
    - acks=0 gets no response. An error closes the connection, as in Kafka; a duplicate is ignored.
      Any other acks gets INVALID_REQUIRED_ACKS.
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
    - A transactional batch needs a transactional id in the request, else all partitions get
      TRANSACTIONAL_ID_AUTHORIZATION_FAILED. With batches of several producer ids in transactions
      all get INVALID_PRODUCER_ID_MAPPING.
    - The first batch of a transaction in a partition is verified with the coordinator (KIP-890).
      From v12 on that adds the partition to the transaction. Before, a partition that was not added
      gets TRANSACTION_ABORTABLE (v11) or INVALID_TXN_STATE, unless
      transaction.partition.verification.enable is off. If the coordinator cannot be asked, the
      error is NOT_ENOUGH_REPLICAS. A fenced producer gets INVALID_PRODUCER_EPOCH.

Gaps:
    - A batch of a transaction whose predecessor is still being ended gets CONCURRENT_TRANSACTIONS
      at once from v12 on. Kafka tries for add.partitions.to.txn.retry.backoff.max.ms first.
    - A batch that claims LogAppendTime is always refused; Kafka stores it if the topic has
      CreateTime.
    - A compressed payload is decompressed only when a check needs its records.
"""

from uuid import UUID  # noqa: TC003 - plain imports show the layers

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.produce.append import ACKS_ALL, append_batch, not_leader, refused, too_few_in_sync
from broker.produce.batch_check import BatchRefusal
from broker.produce.request_batches import RequestBatches, read_batches, topic_key
from broker.produce.transactional_batches import verify_batch
from broker.request.context import RequestContext
from broker.request.producer_id_gate import producer_id_gate
from broker.request.throttling import charge_produce
from broker.responses import Close
from broker.routes import handles
from protocol import produce
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY, paced_elements
from protocol.produce import NodeEndpoint, PartitionData, PartitionResult, TopicData, TopicResult
from protocol.records import BatchHeader

_LEGAL_ACKS = frozenset({-1, 0, 1})
_UNKNOWN = frozenset({ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
INTERNAL_WRITER = "__admin_client"
"""The client id that may write to internal topics."""


@handles(ApiKey.PRODUCE, is_raw=True)
def handle_produce(
    context: RequestContext,
    frame: bytes | bytearray,
    start: int,
    end: int,
    cluster: Cluster,
) -> bytes | bytearray | Close | None:
    """Kafka's `KafkaApis.handleProduceRequest` and `ReplicaManager.appendRecords`."""
    version = context.api_version
    request = produce.decode_request(version, frame, start, end)
    acks = request.acks
    is_limited = cluster.quotas.clients.is_enabled
    batches = read_batches(request, context.broker_id, cluster, frame, version)
    if isinstance(batches, BatchRefusal):
        topic_results = _failed(request, batches)
        has_error = True
    else:
        topic_results, has_error = _produce(context, cluster, request, batches, frame)
    if is_limited:
        charge_produce(context, cluster, expects_response=acks != 0)
    if acks == 0:
        reason = _acks_0_reason(topic_results) if has_error else None
        return Close(reason) if reason is not None else None
    endpoints = _leader_endpoints(context, topic_results, cluster) if has_error else ()
    return produce.encode_response(
        version, topic_results, context.throttle_time_ms, endpoints, has_error=has_error
    )


def _produce(
    context: RequestContext,
    cluster: Cluster,
    request: produce.ProduceRequest,
    batches: RequestBatches,
    frame: bytes | bytearray,
) -> tuple[list[TopicResult], bool]:
    """Append the batches; return the results, and whether any of them is an error."""
    topic_results = []
    has_error = False
    topics, refused_partitions = batches
    for topic_data, topic, topic_batches in (
        topics if len(topics) <= LOOK_EVERY else paced_elements(topics)
    ):
        results = []
        for part, header in (
            topic_batches if len(topic_batches) <= LOOK_EVERY else paced_elements(topic_batches)
        ):
            result = _produce_partition(
                context, topic_data, topic, part, header, request, frame, cluster
            )
            if refused_partitions:
                refusal = refused_partitions.get((topic_key(topic_data), part.partition_index))
                if refusal is not None and result.error_code not in _UNKNOWN:
                    result = refused(part.partition_index, refusal)
            has_error = has_error or result.error_code != 0
            results.append(result)
        topic_results.append(TopicResult(topic_data.name, topic_data.topic_id, results))
    return topic_results, has_error


def _failed(request: produce.ProduceRequest, refusal: BatchRefusal) -> list[TopicResult]:
    """Return the error of the request for each of its partitions, each once."""
    indexes: dict[str | UUID, tuple[TopicData, dict[int, None]]] = {}
    for topic_data in paced_elements(request.topics):
        for part in paced_elements(topic_data.partitions):
            _, found = indexes.setdefault(topic_key(topic_data), (topic_data, {}))
            found[part.partition_index] = None
    return [
        TopicResult(
            topic_data.name, topic_data.topic_id, [refused(index, refusal) for index in found]
        )
        for topic_data, found in indexes.values()
    ]


def _produce_partition(
    context: RequestContext,
    topic_data: TopicData,
    topic: Topic | None,
    part: PartitionData,
    header: BatchHeader | BatchRefusal,
    request: produce.ProduceRequest,
    frame: bytes | bytearray,
    cluster: Cluster,
) -> PartitionResult:
    index = part.partition_index
    if topic is None and topic_data.topic_id is not None:
        return PartitionResult(index, ErrorCode.UNKNOWN_TOPIC_ID)
    partition = None if topic is None else topic.partition(index)
    if topic is None or partition is None:
        return PartitionResult(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if isinstance(header, BatchRefusal):
        return refused(index, header)
    transactional_id = request.transactional_id
    if transactional_id is not None:
        refusal = verify_batch(context, cluster, partition, transactional_id, header)
        if refusal is not None:
            return refusal
    acks = request.acks
    if acks not in _LEGAL_ACKS:
        return PartitionResult(index, ErrorCode.INVALID_REQUIRED_ACKS)
    if topic.is_internal and context.client_id != INTERNAL_WRITER:
        return PartitionResult(index, ErrorCode.INVALID_TOPIC_EXCEPTION)
    if partition.leader_id != context.broker_id:
        return not_leader(partition)
    if (
        acks == ACKS_ALL
        and len(partition.isr) < topic.min_insync_replicas
        and topic.has_too_few_in_sync(partition)
    ):
        return too_few_in_sync(partition)
    has_quota = header.producer_id >= 0 and cluster.quotas.clients.is_enabled
    return append_batch(
        context,
        cluster,
        topic,
        partition,
        frame,
        part.start,
        part.end,
        producer_id_gate(context, cluster) if has_quota else None,
        transactional_id,
        header,
        acks,
    )


def _leader_endpoints(
    context: RequestContext, topic_results: list[TopicResult], cluster: Cluster
) -> tuple[NodeEndpoint, ...]:
    leader_ids = {
        result.current_leader[0]
        for topic in paced_elements(topic_results)
        for result in paced_elements(topic.partitions)
        if result.current_leader is not None
    }
    if not leader_ids:
        return ()
    return tuple(
        NodeEndpoint(broker.node_id, address.host, address.port, broker.rack)
        for broker, address in cluster.addresses(context.session.listener)
        if broker.node_id in leader_ids
    )


def _acks_0_reason(topic_results: list[TopicResult]) -> str | None:
    """Return why to close the connection; None when all errors are duplicates (KIP-758)."""
    codes = sorted(
        {
            ErrorCode(result.error_code).name
            for topic in paced_elements(topic_results)
            for result in paced_elements(topic.partitions)
            if result.error_code not in {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
        }
    )
    return f"Produce with acks=0 failed: {', '.join(codes)}" if codes else None
