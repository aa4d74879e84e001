"""Produce: v3-13.

Behaviour:
    - One record batch per partition, stored as the bytes that were sent. `batch_check` checks the
      batch, then the producer's sequence is checked, then the batch is appended. Each partition
      succeeds or fails alone, in request order.
    - acks=-1 needs min.insync.replicas in-sync replicas, else NOT_ENOUGH_REPLICAS and nothing is
      appended. Replicas share the log, so there is nothing to wait for. acks=1 needs the leader.
    - acks=0 gets no response. An error closes the connection, as in Kafka; a duplicate is ignored.
      Any other acks gets INVALID_REQUIRED_ACKS.
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
    - A transactional batch needs a transactional id in the request, else it gets
      TRANSACTIONAL_ID_AUTHORIZATION_FAILED. Batches of several producer ids in transactions get
      INVALID_PRODUCER_ID_MAPPING.
    - The first batch of a transaction in a partition is verified with the coordinator (KIP-890).
      From v12 on that adds the partition to the transaction. Before, a partition that was not added
      gets TRANSACTION_ABORTABLE (v11) or INVALID_TXN_STATE, unless
      transaction.partition.verification.enable is off. If the coordinator cannot be asked, the
      error is NOT_ENOUGH_REPLICAS. A fenced producer gets INVALID_PRODUCER_EPOCH.

Gaps:
    - A batch of a transaction whose predecessor is still being ended gets CONCURRENT_TRANSACTIONS
      at once from v12 on. Kafka tries for add.partitions.to.txn.retry.backoff.max.ms first.
    - A compressed payload is decompressed only when a check needs its records.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.topics import INTERNAL_TOPICS, Partition, Topic
from broker.produce.append import append_batch
from broker.produce.transactional_batches import has_several_producers, verify_batch
from broker.request.context import RequestContext
from broker.request.producer_id_gate import producer_id_gate
from broker.request.session import ProducerIds
from broker.request.throttling import charge_produce
from broker.responses import Close
from broker.routes import handles
from protocol import produce
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.produce import NodeEndpoint, PartitionData, PartitionResult, TopicData, TopicResult

ACKS_ALL = -1
_LEGAL_ACKS = frozenset({-1, 0, 1})


@handles(ApiKey.PRODUCE, versions=(3, 13), advertised_min=0, is_raw=True)
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
    gate = producer_id_gate(context, cluster) if is_limited else None
    transactional_id = request.transactional_id
    request_error = None
    if transactional_id is not None and has_several_producers(request, frame):
        request_error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    topic_results = []
    has_error = False
    for topic_data in request.topics:
        topic = _find_topic(topic_data, cluster)
        results = []
        for part in topic_data.partitions:
            error_code = request_error or _request_error(request, topic_data, topic)
            if error_code is None and topic is not None:
                result = _produce_partition(
                    context, topic, part, frame, acks, cluster, gate, transactional_id
                )
            else:
                result = PartitionResult(part.partition_index, error_code or ErrorCode.NONE)
            has_error = has_error or result.error_code != 0
            results.append(result)
        topic_results.append(TopicResult(topic_data.name, topic_data.topic_id, results))
    if is_limited:
        charge_produce(context, cluster, expects_response=acks != 0)
    if acks == 0:
        reason = _acks_0_reason(topic_results) if has_error else None
        return Close(reason) if reason is not None else None
    endpoints = _leader_endpoints(context, topic_results, cluster) if has_error else ()
    return produce.encode_response(version, topic_results, context.throttle_time_ms, endpoints)


def _find_topic(topic_data: TopicData, cluster: Cluster) -> Topic | None:
    if topic_data.topic_id is not None:
        return cluster.topics.get_by_id(topic_data.topic_id)
    return cluster.topics.get(topic_data.name)


def _request_error(
    request: produce.ProduceRequest, topic_data: TopicData, topic: Topic | None
) -> ErrorCode | None:
    if request.acks not in _LEGAL_ACKS:
        return ErrorCode.INVALID_REQUIRED_ACKS
    if topic is None:
        if topic_data.topic_id is not None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        if topic_data.name in INTERNAL_TOPICS:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return None


def _produce_partition(
    context: RequestContext,
    topic: Topic,
    part: PartitionData,
    frame: bytes | bytearray,
    acks: int,
    cluster: Cluster,
    gate: ProducerIds | None,
    transactional_id: str | None,
) -> PartitionResult:
    index = part.partition_index
    partition = topic.partition(index)
    if partition is None:
        return PartitionResult(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if partition.leader_id != context.broker_id:
        return _not_leader(partition)
    if transactional_id is not None:
        refusal = verify_batch(context, cluster, partition, transactional_id, frame, part)
        if refusal is not None:
            return refusal
    if acks == ACKS_ALL and len(partition.isr) < topic.min_insync_replicas:
        return PartitionResult(index, ErrorCode.NOT_ENOUGH_REPLICAS)
    return append_batch(
        context,
        cluster,
        topic,
        partition,
        frame,
        part.start,
        part.end,
        gate,
        transactional_id is not None,
    )


def _not_leader(partition: Partition) -> PartitionResult:
    return PartitionResult(
        partition.partition_index,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        current_leader=(partition.leader_id, partition.leader_epoch),
    )


def _leader_endpoints(
    context: RequestContext, topic_results: list[TopicResult], cluster: Cluster
) -> tuple[NodeEndpoint, ...]:
    leader_ids = {
        result.current_leader[0]
        for topic in topic_results
        for result in topic.partitions
        if result.current_leader is not None
    }
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
            for topic in topic_results
            for result in topic.partitions
            if result.error_code not in {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
        }
    )
    return f"Produce with acks=0 failed: {', '.join(codes)}" if codes else None
