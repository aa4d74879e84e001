"""End the usual transaction in one step.

Usual are producers of transaction version 2, few partitions, a coordinator and leaders that are up,
enough replicas in sync, and no fault rule for markers. `broker/cluster/transactions.py` has the
rules. What this function does is the same, in the time that the work itself takes; where it returns
False, nothing has changed, and the others decide.
"""

from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition, Topic
from broker.cluster.transaction_log import TransactionLogPartition
from broker.cluster.transactions import SHORT_PARTITIONS_MAX, is_reachable, store_marker
from broker.transactions.marker import Marker
from broker.transactions.transaction import (
    LAST_EPOCH,
    TransactionState,
)
from protocol.errors import ErrorCode
from protocol.pacing import may_pause

_UP = Availability.UP
_ONGOING = TransactionState.ONGOING
_NONE = ErrorCode.NONE


# Hot path: inlined on purpose.
@may_pause
def end_transaction(
    cluster: Cluster,
    broker_id: int,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    now_ms: int,
    *,
    is_commit: bool,
) -> bool:
    """Commit or abort a transaction, as its coordinator is asked to; the epoch is bumped."""
    transaction = cluster.transactions.get(transactional_id)
    if (
        transaction is None
        or transaction.state is not _ONGOING
        or transaction.producer_id != producer_id
        or not transaction.producer_epoch == producer_epoch < LAST_EPOCH
        or transaction.marker_requests
        or len(transaction.partitions) > SHORT_PARTITIONS_MAX
    ):
        return False
    log, coordinator = transaction.log, cluster.brokers.get(broker_id)
    sender = cluster.marker_sender
    if (
        not isinstance(log, TransactionLogPartition)
        or log.partition.leader_id != broker_id
        or coordinator is None
        or not coordinator.is_alive
        or coordinator.availability is not _UP
        or log.check() is not _NONE
        or (sender is not None and sender.is_needed)
    ):
        return False
    marker_epoch, coordinator_epoch = producer_epoch + 1, log.partition.leader_epoch
    places: list[tuple[Topic, Partition]] = []
    for name, index in transaction.partitions:
        topic = cluster.topics.get(name)
        partition = None if topic is None else topic.partition(index)
        if (
            topic is None
            or partition is None
            or topic.is_internal
            or topic.is_log_append_time
            or len(partition.isr) < topic.min_insync_replicas
            or not (partition.leader_id == broker_id or is_reachable(cluster, partition.leader_id))
            or partition.producers.check_marker(producer_id, marker_epoch, coordinator_epoch)
            is not _NONE
        ):
            return False
        places.append((topic, partition))
    if not log.append_end(transaction, cluster.transaction_version, now_ms, is_commit=is_commit):
        return False
    transaction.end_at_once(is_commit=is_commit, now_ms=now_ms)
    marker = Marker(producer_id, marker_epoch, coordinator_epoch, is_commit)
    for topic, partition in places:
        store_marker(cluster, topic, partition, marker, now_ms)
    return True
