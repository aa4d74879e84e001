"""Whether the transactional batches of a Produce request may be stored.

Source: Kafka's `ReplicaManager.handleProduceAppend`.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition
from broker.produce.verification import produce_error, verify_transaction
from broker.request.context import RequestContext
from protocol.errors import ErrorCode
from protocol.produce import PartitionResult
from protocol.records import TRANSACTIONAL_FLAG, BatchHeader

ADDS_PARTITION_VERSION_MIN = 12
"""The first version of Produce for transaction version 2: the leader adds the partition."""
ABORTABLE_VERSION_MIN = 11
"""The first version of Produce whose clients know TRANSACTION_ABORTABLE."""


def verify_batch(
    context: RequestContext,
    cluster: Cluster,
    partition: Partition,
    transactional_id: str,
    header: BatchHeader,
) -> PartitionResult | None:
    """Return the error of a batch outside its transaction; None if it may be appended.

    A batch that is not transactional needs no verification.
    """
    if not header.attributes & TRANSACTIONAL_FLAG or header.producer_id < 0:
        return None
    error_code = verify_produced(
        cluster,
        context.broker_id,
        context.api_version,
        transactional_id,
        partition,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        context.now_ms,
    )
    if error_code is ErrorCode.NONE:
        return None
    adds_partition = context.api_version >= ADDS_PARTITION_VERSION_MIN
    error_code, message = produce_error(error_code, adds_partition=adds_partition)
    return PartitionResult(partition.partition_index, error_code, error_message=message)


def verify_produced(
    cluster: Cluster,
    broker_id: int,
    api_version: int,
    transactional_id: str,
    partition: Partition,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    now_ms: int,
) -> ErrorCode:
    """Return `verify_transaction` of a transactional batch in a Produce request of a version.

    To repeat it at the same time changes nothing more.
    """
    return verify_transaction(
        cluster,
        broker_id,
        transactional_id,
        producer_id,
        producer_epoch,
        (partition.topic_name, partition.partition_index),
        partition.producers,
        now_ms,
        base_sequence,
        adds_partition=api_version >= ADDS_PARTITION_VERSION_MIN,
        knows_abortable=api_version >= ABORTABLE_VERSION_MIN,
    )
