"""Verify that a batch or an offset belongs to an ongoing transaction, before the append (KIP-890).

The leader asks the coordinator when a producer writes to the partition for the first time in its
transaction. Clients of transaction version 2 don't add partitions themselves: the leader does it.

Sources: Kafka's `AddPartitionsToTxnManager`, `ReplicaManager.handleProduceAppend` and
`CoordinatorRuntime.scheduleTransactionalWriteOperation`.
"""

from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.transactions.coordinator import new_producer
from broker.transactions.transaction import EPOCH_BUMP_VERSION_MIN, TopicPartition
from producer_state.producer_state_manager import ProducerStateManager
from producer_state.rules import Refused
from protocol.errors import ErrorCode

_UP = Availability.UP
_COORDINATOR_ERRORS = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def verify_transaction(
    cluster: Cluster,
    broker_id: int,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    topic_partition: TopicPartition,
    producers: ProducerStateManager,
    now_ms: int,
    base_sequence: int,
    *,
    adds_partition: bool,
    knows_abortable: bool,
) -> ErrorCode:
    """Return NONE if the partition is in the transaction of a producer, or was added to it.

    `adds_partition`: the version of the request belongs to transaction version 2.
    `knows_abortable`: it knows TRANSACTION_ABORTABLE; others get INVALID_TXN_STATE.
    `producers` is the state of the partition. NETWORK_EXCEPTION and COORDINATOR_NOT_AVAILABLE mean
    that the coordinator could not be asked.
    """
    if (
        not adds_partition
        and not cluster.config.for_broker(broker_id)["transaction.partition.verification.enable"]
    ):
        return ErrorCode.NONE
    started = producers.begin_verification(
        producer_id, producer_epoch, base_sequence, now_ms, supports_epoch_bump=adds_partition
    )
    if started is False:
        return ErrorCode.NONE
    if isinstance(started, Refused):
        return started.error_code
    coordinating = cluster.transaction_log.partition(transactional_id)
    coordinator = None if coordinating is None else cluster.brokers.get(coordinating.leader_id)
    if coordinator is None or not coordinator.is_alive:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if coordinator.availability is not _UP:
        return ErrorCode.NETWORK_EXCEPTION
    producer = new_producer((producer_id, producer_epoch))
    if adds_partition:
        error_code = cluster.transactions.add_partitions(
            transactional_id,
            producer,
            (topic_partition,),
            transaction_version=EPOCH_BUMP_VERSION_MIN,
            now_ms=now_ms,
        )
    else:
        error_code = cluster.transactions.verify_partition(
            transactional_id, producer, topic_partition
        )
    if error_code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error_code is ErrorCode.TRANSACTION_ABORTABLE and not knows_abortable:
        return ErrorCode.INVALID_TXN_STATE
    return error_code


def produce_error(error_code: ErrorCode, *, adds_partition: bool) -> tuple[ErrorCode, str | None]:
    """Return the error and the message of a Produce response for an error of the verification.

    Producers retry NOT_ENOUGH_REPLICAS without looking for another leader.
    """
    if error_code is ErrorCode.INVALID_TXN_STATE:
        return error_code, "Partition was not added to the transaction"
    is_busy = error_code is ErrorCode.CONCURRENT_TRANSACTIONS and not adds_partition
    if is_busy or error_code in _COORDINATOR_ERRORS:
        message = (
            "Unable to verify the partition has been added to the transaction."
            f" Underlying error: {error_code.name}"
        )
        return ErrorCode.NOT_ENOUGH_REPLICAS, message
    return error_code, None
