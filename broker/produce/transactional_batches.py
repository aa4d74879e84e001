"""The transactional batches of a Produce request: which they are, and whether they may be stored.

Source: Kafka's `ReplicaManager.handleProduceAppend`.
"""

from collections.abc import Iterator

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition
from broker.produce.verification import produce_error, verify_transaction
from broker.request.context import RequestContext
from broker.transactions.coordinator import ProducerIdAndEpoch
from protocol import records
from protocol.errors import ErrorCode
from protocol.produce import PartitionData, PartitionResult, ProduceRequest
from protocol.records import BatchHeader

ADDS_PARTITION_VERSION_MIN = 12
"""The first version of Produce for transaction version 2: the leader adds the partition."""
ABORTABLE_VERSION_MIN = 11
"""The first version of Produce whose clients know TRANSACTION_ABORTABLE."""


def has_several_producers(request: ProduceRequest, frame: bytes | bytearray) -> bool:
    """Return whether the transactional batches of a request come from several producers."""
    if len(request.topics) == 1 and len(request.topics[0].partitions) == 1:
        return False
    producers = {(header.producer_id, header.producer_epoch) for header in _headers(request, frame)}
    return len(producers) > 1


def verify_batch(
    context: RequestContext,
    cluster: Cluster,
    partition: Partition,
    transactional_id: str,
    frame: bytes | bytearray,
    part: PartitionData,
) -> PartitionResult | None:
    """Return the error of a batch outside its transaction; None if it may be appended.

    A batch that is not transactional needs no verification.
    """
    header = _transactional_header(frame, part)
    if header is None:
        return None
    adds_partition = context.api_version >= ADDS_PARTITION_VERSION_MIN
    error_code = verify_transaction(
        cluster,
        context.broker_id,
        transactional_id,
        ProducerIdAndEpoch(header.producer_id, header.producer_epoch),
        (partition.topic_name, partition.partition_index),
        partition.producers,
        context.now_ms,
        base_sequence=header.base_sequence,
        adds_partition=adds_partition,
        knows_abortable=context.api_version >= ABORTABLE_VERSION_MIN,
    )
    if error_code is ErrorCode.NONE:
        return None
    error_code, message = produce_error(error_code, adds_partition=adds_partition)
    return PartitionResult(partition.partition_index, error_code, error_message=message)


def _headers(request: ProduceRequest, frame: bytes | bytearray) -> Iterator[BatchHeader]:
    for topic in request.topics:
        for part in topic.partitions:
            header = _transactional_header(frame, part)
            if header is not None:
                yield header


def _transactional_header(frame: bytes | bytearray, part: PartitionData) -> BatchHeader | None:
    if part.start < 0 or part.end - part.start < records.HEADER_BYTES:
        return None
    header = records.read_header(frame, part.start)
    is_transactional = header.attributes & records.TRANSACTIONAL_FLAG and header.producer_id >= 0
    return header if header.magic == records.MAGIC and is_transactional else None
