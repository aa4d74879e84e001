"""Append batches to partitions: check, check the producer's state, stamp, store.

`accept_batches` is the only function that accepts a batch of a client. A new rule about batches
goes into `check_batch`; one about partitions, brokers or producers goes into `accept_batches`.
"""

from collections.abc import Sequence
from functools import partial

from broker.cluster.cluster import Cluster
from broker.cluster.producer_limit import check_producer_id_limit
from broker.cluster.topics import Partition, Topic
from broker.produce.acknowledge import note_batch
from broker.produce.batch_check import ReadBatch, batch_end, check_batch, read_batch
from broker.produce.batch_refusal import BatchRefusal
from broker.produce.stored_batch import StoredBatch
from broker.produce.transactional_batches import verify_batch
from broker.request.context import RequestContext
from broker.request.producer_id_gate import producer_id_gate
from broker.request.session import ProducerIds
from producer_state.rules import Append, Duplicate, Refused
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY, current_turn, may_pause, paced_elements
from protocol.produce import (
    NO_RECORD_ERRORS,
    AppendedFields,
    PartitionResult,
    Refusals,
    partition_results,
)
from protocol.records import (
    COPIED_BYTES_MAX,
    CRC_START,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    HeaderFields,
    pack_stored_header,
    stamp_log_append_time,
)

ACKS_ALL = -1
INTERNAL_WRITER = "__admin_client"
"""The client id that may write to internal topics."""

_LEGAL_ACKS = frozenset({-1, 0, 1})
_new_header = partial(tuple.__new__, BatchHeader)


@may_pause
def append_batch(
    context: RequestContext,
    cluster: Cluster,
    topic: Topic,
    partition: Partition,
    frame: bytes | bytearray,
    start: int,
    end: int,
    *,
    acks: int = 1,
    transactional_id: str | None = None,
) -> PartitionResult:
    """Append the batch in `frame[start:end]` as `accept_batches` does; return a named result."""
    header = read_batch(frame, start, end, context.api_version)
    if not isinstance(header, BatchRefusal):
        end = batch_end(header, start)
    part = (partition.partition_index, start, end, header)
    (result,) = partition_results(
        *accept_batches(context, cluster, topic, (part,), frame, acks, transactional_id, False)
    )
    return PartitionResult._make(result)


# Hot path: one loop, and the steps of a usual batch inlined.
@may_pause
def accept_batches(  # noqa: C901, PLR0912, PLR0915
    context: RequestContext,
    cluster: Cluster,
    topic: Topic,
    parts: Sequence[ReadBatch],
    frame: bytes | bytearray,
    acks: int,
    transactional_id: str | None,
    is_plain: bool,
) -> tuple[AppendedFields, Refusals]:
    """Append the batches for partitions of a topic, each or not (Kafka's `UnifiedLog.append`).

    Returns what `partition_results` takes: fields of the results without an error, and the others.
    With `is_plain` each batch has a header, none is transactional, and no partition comes twice.
    """
    now_ms, broker_id = context.now_ms, context.broker_id
    partitions = topic.partitions
    partition_count = len(partitions)
    isr_min = topic.min_insync_replicas if acks == ACKS_ALL else 0
    needs_followers = isr_min > 1  # a leader is in sync with itself
    is_unusual = not is_plain or topic.is_read_only or acks not in _LEGAL_ACKS
    has_gate = cluster.quotas.clients.is_enabled
    gate: ProducerIds | None = None
    appended: AppendedFields = []
    refusals: Refusals = []
    fields: HeaderFields
    for index, start, end, read in parts if len(parts) <= LOOK_EVERY else paced_elements(parts):
        if is_unusual or index < 0 or index >= partition_count:
            refusal = _refuse_early(context, cluster, topic, index, read, acks, transactional_id)
            if refusal is not None:
                refusals.append((len(appended), refusal))
                continue
        partition = partitions[index]
        fields = read  # type: ignore[assignment]  # anything else is refused
        _, length, _, _, crc, flags, delta, _, timestamp, producer_id, epoch, sequence, _ = fields
        source = frame if length < COPIED_BYTES_MAX else memoryview(frame)
        covered = source[start + CRC_START : end]
        # The partition may move, be deleted, or lose a replica while the check pauses, so the rules
        # about these come behind it. But their errors win, as in Kafka.
        checked = check_batch(fields, covered, topic, index, now_ms)
        log = partition.log
        if (
            checked is not None
            or partition.leader_id != broker_id
            or (needs_followers and len(partition.isr) < isr_min)
            or (is_unusual and flags & TRANSACTIONAL_FLAG)
        ):
            refusal = _refuse_checked(
                context, cluster, topic, partition, checked, fields, isr_min, transactional_id
            )
            if refusal is not None:
                refusals.append((len(appended), refusal))
                continue
            if checked is not None:  # stored in another form
                fields, covered = checked  # type: ignore[misc]  # not a refusal
                length, crc, timestamp = fields[1], fields[4], fields[8]
        base_offset, leader_epoch = log.log_end_offset, partition.leader_epoch
        log_append_time_ms = -1
        if topic.is_log_append_time:
            log_append_time_ms = timestamp = now_ms
        if producer_id >= 0:
            if has_gate:
                gate = producer_id_gate(context, cluster)
            if (
                (is_unusual and flags & TRANSACTIONAL_FLAG)
                or (gate is not None and not gate.is_known(producer_id, now_ms))
                or not partition.producers.apply_next(
                    producer_id, epoch, sequence, delta, base_offset, timestamp
                )
            ):
                refusal = _write_producer(context, gate, topic, partition, fields, timestamp)
                if refusal is not None:
                    if refusal.error_code:
                        refusals.append((len(appended), refusal))
                    else:  # it is stored already
                        appended += (index, *refusal[2:5], NO_RECORD_ERRORS)
                    continue
        batch = pack_stored_header(base_offset, length, leader_epoch, MAGIC, crc) + covered
        if log_append_time_ms >= 0:
            batch = stamp_log_append_time(batch, now_ms)
        log.append(batch, delta + 1, leader_epoch)
        if cluster.limits_producer_ids and producer_id >= 0:
            check_producer_id_limit(cluster, broker_id, now_ms)
        cluster.appended(topic, partition, length + LOG_OVERHEAD_BYTES, now_ms)
        if context.acknowledgements is not None:
            note_batch(context, topic, partition, _new_header(fields), base_offset, is_append=True)
        start_offset = log.log_start_offset
        appended += (index, base_offset, log_append_time_ms, start_offset, NO_RECORD_ERRORS)
    return appended, refusals


def _refuse_early(
    context: RequestContext,
    cluster: Cluster,
    topic: Topic,
    index: int,
    fields: HeaderFields | BatchRefusal | None,
    acks: int,
    transactional_id: str | None,
) -> PartitionResult | None:
    """Return why a batch is not looked at, or None."""
    if not 0 <= index < len(topic.partitions):
        return PartitionResult(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if isinstance(fields, BatchRefusal):
        return refused(index, fields)
    assert fields is not None
    if transactional_id is not None:
        partition, header = topic.partitions[index], _new_header(fields)
        outside = verify_batch(context, cluster, partition, transactional_id, header)
        if outside is not None:
            return outside
    if acks not in _LEGAL_ACKS:
        return PartitionResult(index, ErrorCode.INVALID_REQUIRED_ACKS)
    if topic.is_read_only and (topic.is_synthetic or context.client_id != INTERNAL_WRITER):
        message = f"{topic.name} is synthetic: nobody writes to it" if topic.is_synthetic else None
        return PartitionResult(index, ErrorCode.INVALID_TOPIC_EXCEPTION, error_message=message)
    return None


def _refuse_checked(
    context: RequestContext,
    cluster: Cluster,
    topic: Topic,
    partition: Partition,
    checked: BatchRefusal | StoredBatch | None,
    fields: HeaderFields,
    isr_min: int,
    transactional_id: str | None,
) -> PartitionResult | None:
    """Return why a batch is not appended after `check_batch`, or None."""
    if partition.leader_id != context.broker_id:
        return not_leader(partition)
    if len(partition.isr) < isr_min and topic.has_too_few_in_sync(partition):
        return too_few_in_sync(partition)
    if isinstance(checked, BatchRefusal):
        return refused(partition.partition_index, checked, partition.log.log_start_offset)
    if fields[5] & TRANSACTIONAL_FLAG:
        return _outside_transaction(context, cluster, partition, transactional_id, fields)
    return None


def _write_producer(
    context: RequestContext,
    gate: ProducerIds | None,
    topic: Topic,
    partition: Partition,
    fields: HeaderFields,
    max_timestamp: int,
) -> PartitionResult | None:
    """Record a batch that is not simply the next of its producer, or return why it is refused."""
    _, _, _, _, _, flags, last_offset_delta, _, _, producer_id, producer_epoch, base_sequence, _ = (
        fields
    )
    is_transactional = bool(flags & TRANSACTIONAL_FLAG)
    producers, base_offset = partition.producers, partition.log.log_end_offset
    decision = producers.check(
        producer_id, producer_epoch, base_sequence, last_offset_delta, is_transactional
    )
    header = _new_header(fields)
    if not isinstance(decision, Append):
        return _not_appended(context, topic, partition, header, decision)
    if gate is not None:
        refusal = gate.refuse(context, partition, header)
        if refusal is not None:
            return refusal
    producers.apply(
        producer_id,
        producer_epoch,
        base_sequence,
        last_offset_delta,
        base_offset,
        max_timestamp,
        is_transactional,
    )
    return None


def too_few_in_sync(partition: Partition) -> PartitionResult:
    """Return the error of a batch with acks=-1 if min.insync.replicas asks for more replicas."""
    return PartitionResult(
        partition.partition_index,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        log_start_offset=partition.log.log_start_offset,
    )


def _outside_transaction(
    context: RequestContext,
    cluster: Cluster,
    partition: Partition,
    transactional_id: str | None,
    fields: HeaderFields,
) -> PartitionResult | None:
    """Return why a transactional batch cannot be appended, or None."""
    if transactional_id is None:
        error_code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return PartitionResult(partition.partition_index, error_code)
    turn = current_turn()
    if turn is not None and turn.is_long:  # its transaction may have ended during a pause
        return verify_batch(context, cluster, partition, transactional_id, _new_header(fields))
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
