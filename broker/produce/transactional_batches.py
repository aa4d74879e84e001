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
    api_version = context.api_version
    adds_partition = api_version >= ADDS_PARTITION_VERSION_MIN
    error_code = verify_transaction(
        cluster,
        context.broker_id,
        transactional_id,
        header.producer_id,
        header.producer_epoch,
        (partition.topic_name, partition.partition_index),
        partition.producers,
        context.now_ms,
        header.base_sequence,
        adds_partition=adds_partition,
        knows_abortable=api_version >= ABORTABLE_VERSION_MIN,
    )
    if error_code is ErrorCode.NONE:
        return None
    error_code, message = produce_error(error_code, adds_partition=adds_partition)
    return PartitionResult(partition.partition_index, error_code, error_message=message)
