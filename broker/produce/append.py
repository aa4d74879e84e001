"""Append one batch to one partition: check, check the producer's state, stamp, store."""

from broker.cluster.cluster import Cluster
from broker.cluster.producer_limit import check_producer_id_limit
from broker.cluster.topics import Partition, Topic
from broker.produce.acknowledge import note_batch
from broker.produce.batch_check import BatchRefusal, check_batch, read_batch
from broker.produce.transactional_batches import verify_batch
from broker.request.context import RequestContext
from broker.request.session import ProducerIds
from producer_state.rules import Append, Duplicate, Refused
from protocol import records
from protocol.errors import ErrorCode
from protocol.pacing import current_turn
from protocol.produce import PartitionResult
from protocol.records import LOG_OVERHEAD_BYTES, TRANSACTIONAL_FLAG, BatchHeader

ACKS_ALL = -1


# Hot path: inlined on purpose.
def append_batch(  # noqa: C901
    context: RequestContext,
    cluster: Cluster,
    topic: Topic,
    partition: Partition,
    frame: bytes | bytearray,
    start: int,
    end: int,
    gate: ProducerIds | None = None,
    transactional_id: str | None = None,
    header: BatchHeader | BatchRefusal | None = None,
    acks: int = 1,
) -> PartitionResult:
    """Append the batch in `frame[start:end]`, or return why not (Kafka's `UnifiedLog.append`).

    `header` is what `read_batch` returned, if the caller has read it already. The caller has
    verified a batch with a `transactional_id`, and checked the replicas in sync for `acks`.
    """
    now_ms = context.now_ms
    log = partition.log
    if header is None:
        header = read_batch(frame, start, end, context.api_version)
    if isinstance(header, BatchRefusal):
        return refused(partition.partition_index, header)
    end = start + LOG_OVERHEAD_BYTES + header.batch_length
    leader_id = partition.leader_id
    batch_refusal = check_batch(frame, start, end, header, topic, partition.partition_index, now_ms)
    if batch_refusal is not None:
        return refused(partition.partition_index, batch_refusal, log.log_start_offset)
    # The partition may have moved, been deleted, or lost a replica while the check paused.
    has_moved = partition.leader_id != leader_id
    if has_moved or (acks == ACKS_ALL and topic.has_too_few_in_sync(partition)):
        return not_leader(partition) if has_moved else too_few_in_sync(partition)
    is_transactional = bool(header.attributes & TRANSACTIONAL_FLAG)
    if is_transactional:
        outside = _outside_transaction(context, cluster, partition, transactional_id, header)
        if outside is not None:
            return outside
    base_offset = log.log_end_offset
    max_timestamp = header.max_timestamp
    if header.producer_id >= 0:
        decision = partition.producers.check(
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.last_offset_delta,
            is_transactional,
        )
        if not isinstance(decision, Append):
            return _not_appended(context, topic, partition, header, decision)
        if gate is not None:
            refusal = gate.refuse(context, partition, header)
            if refusal is not None:
                return refusal
    batch = records.stamp(frame, start, end, base_offset, partition.leader_epoch)
    log_append_time_ms = -1
    if topic.is_log_append_time:
        log_append_time_ms = max_timestamp = now_ms
        batch = records.stamp_log_append_time(batch, now_ms)
    store_batch(
        cluster,
        topic,
        partition,
        batch,
        max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.last_offset_delta,
        now_ms,
        is_transactional,
    )
    if context.acknowledgements is not None:
        note_batch(context, topic, partition, header, base_offset, is_append=True)
    index, start_offset = partition.partition_index, log.log_start_offset
    return PartitionResult(index, ErrorCode.NONE, base_offset, log_append_time_ms, start_offset)


def too_few_in_sync(partition: Partition) -> PartitionResult:
    """Return the error of a batch with acks=-1 if min.insync.replicas asks for more replicas."""
    return PartitionResult(
        partition.partition_index,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        log_start_offset=partition.log.log_start_offset,
    )


def store_batch(
    cluster: Cluster,
    topic: Topic,
    partition: Partition,
    batch: bytes,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    last_offset_delta: int,
    now_ms: int,
    is_transactional: bool = False,
) -> None:
    """Store a batch that was checked and stamped, and what its producer wrote."""
    log = partition.log
    base_offset = log.log_end_offset
    log.append(batch, last_offset_delta + 1, partition.leader_epoch)
    if producer_id >= 0:
        partition.producers.apply(
            producer_id,
            producer_epoch,
            base_sequence,
            last_offset_delta,
            base_offset,
            max_timestamp,
            is_transactional,
        )
        if cluster.limits_producer_ids:
            check_producer_id_limit(cluster, partition.leader_id, now_ms)
    cluster.appended(topic, partition, len(batch), now_ms)


def _outside_transaction(
    context: RequestContext,
    cluster: Cluster,
    partition: Partition,
    transactional_id: str | None,
    header: BatchHeader,
) -> PartitionResult | None:
    """Return why a transactional batch cannot be appended, or None."""
    if transactional_id is None:
        error_code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return PartitionResult(partition.partition_index, error_code)
    turn = current_turn()
    if turn is not None and turn.is_long:  # its transaction may have ended during a pause
        return verify_batch(context, cluster, partition, transactional_id, header)
    return None


def not_leader(partition: Partition) -> PartitionResult:
    """Return the result of a partition that this broker does not lead."""
    return PartitionResult(
        partition.partition_index,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        current_leader=(partition.leader_id, partition.leader_epoch),
    )


def refused(
    partition_index: int, refusal: BatchRefusal, log_start_offset: int = -1
) -> PartitionResult:
    """Return the result of a partition whose batch is refused."""
    return PartitionResult(
        partition_index,
        refusal.error_code,
        error_message=refusal.error_message,
        record_errors=refusal.record_errors,
        log_start_offset=log_start_offset if refusal.has_log_start_offset else -1,
    )


def _not_appended(
    context: RequestContext,
    topic: Topic,
    partition: Partition,
    header: BatchHeader,
    decision: Duplicate | Refused,
) -> PartitionResult:
    log_start_offset = partition.log.log_start_offset
    if isinstance(decision, Refused):
        return PartitionResult(
            partition.partition_index, decision.error_code, log_start_offset=log_start_offset
        )
    if context.acknowledgements is not None:
        note_batch(context, topic, partition, header, decision.base_offset, is_append=False)
    return PartitionResult(
        partition.partition_index,
        decision.error_code,
        decision.base_offset,
        decision.timestamp,
        log_start_offset,
    )
