"""End transactions: write their markers to the leaders of their partitions.

Markers are written at once where the leader is up. Where it is not, or has too few in-sync
replicas, the transaction stays prepared, and the marker is written when brokers or leaders change.

The markers of a transaction have one writer at a time, which looks at everything again after each
pause: one of many partitions takes turns (ADR 23), and a marker that is sent as a request may wait.
A second writer could write its marker into the next transaction of the producer's epoch.

Sources: Kafka's `TransactionMarkerChannelManager`, `TransactionMarkerRequestCompletionHandler` and
`KafkaApis.handleWriteTxnMarkersRequest`.
"""

from collections.abc import Callable, Iterable
from functools import partial

from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.cluster.internal_topics import GROUP_METADATA
from broker.cluster.topics import Partition, Topic
from broker.cluster.transaction_index import AbortedTransaction
from broker.timers import PeriodicTask, TimerCallback
from broker.transactions.coordinator import ProducerIdAndEpoch, TransactionCoordinator
from broker.transactions.ending import EndResult
from broker.transactions.marker import REQUEST_TIMEOUT_MS, Marker, MarkerRequest, new_marker
from broker.transactions.transaction import (
    TopicPartition,
    Transaction,
    TransactionState,
)
from producer_state.rules import NO_OFFSET
from protocol import records
from protocol.control_records import ControlRecordType, encode_end_txn_batch
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_UP = Availability.UP
OFFSETS_TOPIC = GROUP_METADATA.name
_NEEDS_NO_MARKER = frozenset(
    {ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION}
)
"""Errors of a partition that has its marker, or can't have records of the transaction."""
SHORT_PARTITIONS_MAX = 100
"""Partitions of a transaction whose markers are written in one go."""
SHORT_OFFSETS_MAX = 1_000
"""Offsets in a transaction that become valid in one go."""
RETRY_MS = 1_000
"""How often markers are tried again that no change of a broker or a leader has released."""


def is_reachable(cluster: Cluster, node_id: int | None) -> bool:
    """Return whether other brokers can send a request to a broker."""
    broker = None if node_id is None else cluster.brokers.get(node_id)
    return broker is not None and broker.is_alive and broker.availability is _UP


def takes_long_to_end(cluster: Cluster, transactional_id: str | None) -> bool:
    """Return whether the transaction of this id has many partitions or committed offsets."""
    transaction = cluster.transactions.get(transactional_id) if transactional_id else None
    if transaction is None:
        return False
    if len(transaction.partitions) > SHORT_PARTITIONS_MAX:
        return True
    offsets, producer_id = cluster.groups.table.transactional_offsets, transaction.producer_id
    return bool(offsets) and any(
        offsets.pending_count(index, producer_id) > SHORT_OFFSETS_MAX
        for name, index in transaction.partitions
        if name == OFFSETS_TOPIC
    )


@may_pause
def end_requested(
    cluster: Cluster,
    broker_id: int,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    *,
    is_commit: bool,
    transaction_version: int,
    now_ms: int,
) -> EndResult:
    """End a transaction as a broker was asked to: prepare it, and write its markers.

    Errors are those of `TransactionCoordinator.end`, and that of a broker which is not the
    coordinator.
    """
    coordinating = cluster.transaction_log.partition(transactional_id)
    if transactional_id and not (
        coordinating is not None
        and coordinating.leader_id == broker_id
        and cluster.is_alive(broker_id)
    ):
        return EndResult(ErrorCode.NOT_COORDINATOR)
    result = cluster.transactions.end(
        transactional_id,
        producer,
        is_commit=is_commit,
        transaction_version=transaction_version,
        new_producer_id=partial(cluster.producer_ids.next_id, broker_id),
        now_ms=now_ms,
    )
    if result.error_code is ErrorCode.NONE:
        transaction = cluster.transactions.prepared.get(transactional_id)
        if transaction is not None:
            _end(cluster, transaction, coordinating, now_ms)
    return result


@may_pause
def end_prepared(cluster: Cluster, transactional_id: str, now_ms: int) -> None:
    """Write the markers of a transaction, if it is prepared; complete it if all are written."""
    transaction = cluster.transactions.prepared.get(transactional_id)
    if transaction is not None:
        _end(cluster, transaction, cluster.transaction_log.partition(transactional_id), now_ms)


@may_pause
def _end(
    cluster: Cluster, transaction: Transaction, coordinating: Partition | None, now_ms: int
) -> None:
    """Write the markers of a prepared transaction, and again later if not all can be written.

    `coordinating` is the partition of its transactional id in `__transaction_state`.
    """
    if not _write_to_partitions(cluster, transaction, coordinating, now_ms):
        _retry_later(cluster, now_ms)


def end_all_prepared(cluster: Cluster, now_ms: int) -> None:
    """Write the markers that could not be written before: soon, in turns.

    The caller may be in the middle of a change of the cluster, where nothing may pause, and of very
    many changes. One look at all prepared transactions serves all of them.
    """
    transactions = cluster.transactions
    if transactions.prepared and not transactions.is_look_scheduled:
        transactions.is_look_scheduled = True
        cluster.timers.schedule(now_ms, partial(_look_at_prepared, cluster, transactions))


@may_pause
def _look_at_prepared(cluster: Cluster, transactions: TransactionCoordinator, now_ms: int) -> None:
    transactions.is_look_scheduled = False
    cluster.in_turns(partial(_end_each, cluster, now_ms))


@may_pause
def _end_each(cluster: Cluster, now_ms: int) -> None:
    for transactional_id in paced(cluster.transactions.prepared):
        end_prepared(cluster, transactional_id, now_ms)


def _retry_later(cluster: Cluster, now_ms: int) -> None:
    transactions = cluster.transactions

    def retry(now_ms: int) -> Iterable[None]:
        end_all_prepared(cluster, now_ms)
        if not transactions.prepared and transactions.retry is not None:
            transactions.retry.stop()
        return ()

    def next_work_ms() -> int | None:
        prepared = transactions.prepared.values()
        waits = prepared and all(
            _waits_for_brokers(cluster, transaction) for transaction in prepared
        )
        return None if waits else 0

    if transactions.retry is None:
        transactions.retry = PeriodicTask(cluster.timers, RETRY_MS, retry, next_work_ms)
    transactions.retry.start(now_ms + RETRY_MS)


def _waits_for_brokers(cluster: Cluster, transaction: Transaction) -> bool:
    """Return whether no marker can be written before a broker or a leader changes."""
    coordinating = cluster.transaction_log.partition(transaction.transactional_id)
    if transaction.has_marker_writer:
        return False
    if coordinating is None or not is_reachable(cluster, coordinating.leader_id):
        return True
    for name, index in transaction.partitions:
        topic = cluster.topics.get(name)
        partition = None if topic is None else topic.partition(index)
        if partition is None or is_reachable(cluster, partition.leader_id):
            return False
    return bool(transaction.partitions)


@may_pause
def _write_markers(cluster: Cluster, transaction: Transaction, now_ms: int) -> bool:
    """Write the markers that can be written; return whether the transaction is complete."""
    coordinating = cluster.transaction_log.partition(transaction.transactional_id)
    return _write_to_partitions(cluster, transaction, coordinating, now_ms)


@may_pause
def _write_to_partitions(
    cluster: Cluster, transaction: Transaction, coordinating: Partition | None, now_ms: int
) -> bool:
    if transaction.has_marker_writer:
        # It goes on when the others are done, and completes the transaction.
        transaction.writes_markers_again = True
        return False
    if coordinating is None:
        return False
    transaction.has_marker_writer = True
    try:
        # Once again at most: a fault rule may move leaders each time a marker is written.
        for _ in range(2):
            transaction.writes_markers_again = False
            _write_all(cluster, transaction, coordinating, now_ms)
            if not transaction.writes_markers_again:
                break
    finally:
        transaction.has_marker_writer = False
    if not _is_prepared(cluster, transaction):
        return True  # the coordinator has forgotten it
    return (
        not transaction.partitions
        and is_reachable(cluster, coordinating.leader_id)
        and cluster.transactions.complete(transaction, now_ms)
    )


@may_pause
def _write_all(
    cluster: Cluster, transaction: Transaction, coordinating: Partition, now_ms: int
) -> None:
    """Write the missing markers; stop when the coordinator cannot go on.

    With many there are pauses between them. One that is sent as a request may pause in any case.
    """
    remaining = transaction.partitions
    partitions = tuple(remaining)
    is_long = len(partitions) > SHORT_PARTITIONS_MAX
    for partition in paced(partitions) if is_long else partitions:
        if not (
            _is_prepared(cluster, transaction) and is_reachable(cluster, coordinating.leader_id)
        ):
            return
        if partition not in remaining:
            continue  # its marker was written in a pause
        # After a pause the coordinator may be another.
        # fmt: off
        marker = new_marker((
            transaction.producer_id, transaction.producer_epoch, coordinating.leader_epoch,
            transaction.state is TransactionState.PREPARE_COMMIT, transaction.transaction_version,
        ))
        # fmt: on
        if _write_marker(cluster, transaction, partition, marker, now_ms) in _NEEDS_NO_MARKER:
            remaining.pop(partition, None)


def _is_prepared(cluster: Cluster, transaction: Transaction) -> bool:
    return cluster.transactions.prepared.get(transaction.transactional_id) is transaction


@may_pause
def _write_marker(
    cluster: Cluster,
    transaction: Transaction,
    topic_partition: TopicPartition,
    marker: Marker,
    now_ms: int,
) -> ErrorCode | None:
    """Return the error of the marker, or None while it has no response."""
    name, index = topic_partition
    topic = cluster.topics.get(name)
    partition = None if topic is None else topic.partition(index)
    if topic is None or partition is None:
        return ErrorCode.NONE  # it was deleted
    if not is_reachable(cluster, partition.leader_id):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    sender = cluster.marker_sender
    if sender is not None and (sender.is_needed or transaction.marker_requests):
        request = transaction.marker_requests.get(topic_partition)
        if request is not None and _may_respond(request, marker, now_ms):
            return None
        request = sender.send(partition.leader_id, name, index, marker, now_ms)
        return _response(cluster, transaction, topic_partition, request)
    return append_marker(cluster, topic, partition, marker, now_ms)


@may_pause
def _may_respond(request: MarkerRequest, marker: Marker, now_ms: int) -> bool:
    """Return whether to wait for the response of a request; cancel it otherwise."""
    is_late = now_ms - request.sent_ms >= REQUEST_TIMEOUT_MS
    if is_late or request.marker != marker:
        request.pending.cancel()
    return not request.pending.is_done


def _response(
    cluster: Cluster,
    transaction: Transaction,
    topic_partition: TopicPartition,
    request: MarkerRequest,
) -> ErrorCode | None:
    """Return the response of a request, or None and wait for it."""
    pending, requests = request.pending, transaction.marker_requests
    if pending.is_done:
        requests.pop(topic_partition, None)
        error_code: ErrorCode | None = pending.response
        return error_code

    def receive(error_code: ErrorCode | None) -> None:
        if requests.get(topic_partition) is request:
            del requests[topic_partition]
            known = cluster.transactions.prepared.get(transaction.transactional_id)
            if error_code in _NEEDS_NO_MARKER and known is transaction:
                remaining = transaction.partitions
                remaining.pop(topic_partition, None)  # its topic may be deleted
                # With more of them the timer tries again, not each response.
                if len(remaining) <= SHORT_PARTITIONS_MAX:
                    _write_markers(cluster, transaction, cluster.timers.latest_ms)

    requests[topic_partition] = request
    pending.attach(receive)
    return None


@may_pause
def append_marker(
    cluster: Cluster, topic: Topic, partition: Partition, marker: Marker, now_ms: int
) -> ErrorCode:
    """Append a control batch to a partition; it ends the transaction of its producer there.

    In a partition of `__consumer_offsets` it commits or drops the pending offsets of the producer.
    Returns NOT_ENOUGH_REPLICAS, INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED, and
    changes nothing, if the marker is refused.
    """
    if len(partition.isr) < topic.min_insync_replicas and topic.has_too_few_in_sync(partition):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    error_code = partition.producers.check_marker(
        marker.producer_id,
        marker.producer_epoch,
        marker.coordinator_epoch,
        marker.transaction_version,
    )
    if error_code is ErrorCode.NONE:
        store_marker(cluster, topic, partition, marker, now_ms)
    return error_code


@may_pause
def store_marker(
    cluster: Cluster, topic: Topic, partition: Partition, marker: Marker, now_ms: int
) -> None:
    """Append a marker that `append_marker` has no reason to refuse."""
    producers, log = partition.producers, partition.log
    producer_id, producer_epoch, coordinator_epoch, is_commit, _transaction_version = marker
    offset, leader_epoch = log.log_end_offset, partition.leader_epoch
    batch = encode_end_txn_batch(
        ControlRecordType.COMMIT if is_commit else ControlRecordType.ABORT,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        coordinator_epoch=coordinator_epoch,
        timestamp_ms=now_ms,
        base_offset=offset,
        leader_epoch=leader_epoch,
    )
    if topic.is_log_append_time:
        batch = records.stamp_log_append_time(batch, now_ms)
    log.append(batch, 1, leader_epoch)
    first_offset = NO_OFFSET
    if producer_id >= 0:
        first_offset = producers.apply_marker(
            producer_id, producer_epoch, coordinator_epoch, now_ms
        )
    if first_offset != NO_OFFSET and not is_commit:
        log.transaction_index.append(
            AbortedTransaction(producer_id, first_offset, offset, partition.last_stable_offset)
        )
    cluster.appended(topic, partition, len(batch), now_ms)
    if topic.name == OFFSETS_TOPIC:
        cluster.groups.table.end_transaction(
            partition.partition_index, producer_id, is_commit=is_commit
        )


# Timeouts and expiry -------------------------------------------------------------------------


@may_pause
def start_transaction_tasks(cluster: Cluster, now_ms: int) -> None:
    """Start the tasks that abort old transactions and remove unused transactional ids."""
    follow_leaders(cluster)
    _repeat(
        cluster,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        lambda now_ms: abort_timed_out(cluster, now_ms),
        lambda: _next_timeout_ms(cluster),
        now_ms,
    )
    _repeat(
        cluster,
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        lambda now_ms: cluster.in_turns(partial(cluster.transactions.expire, now_ms)),
        cluster.transactions.next_expiry_ms,
        now_ms,
    )


def follow_leaders(cluster: Cluster) -> None:
    """Write the missing markers when a broker or a leader is there again."""
    cluster.on_leaders_change = lambda now_ms: end_all_prepared(cluster, now_ms)


def _repeat(
    cluster: Cluster,
    interval_key: str,
    task: TimerCallback,
    next_work_ms: Callable[[], int | None],
    now_ms: int,
) -> None:
    def run(now_ms: int) -> Iterable[None]:
        task(now_ms)
        return ()

    interval_ms = cluster.config[interval_key]
    PeriodicTask(cluster.timers, interval_ms, run, next_work_ms).start(now_ms + interval_ms)


@may_pause
def abort_timed_out(cluster: Cluster, now_ms: int) -> None:
    """Abort the transactions that are older than their timeout, where the coordinator is up.

    They take turns together.
    """
    cluster.in_turns(partial(_abort_timed_out, cluster, now_ms))


@may_pause
def _abort_timed_out(cluster: Cluster, now_ms: int) -> None:
    transactions = cluster.transactions
    for transaction in paced(transactions.timed_out(now_ms)):
        transactional_id = transaction.transactional_id
        if (
            transactions.get(transactional_id) is transaction
            and transaction.has_timed_out(now_ms)
            and is_reachable(cluster, cluster.transaction_coordinator_id(transactional_id))
        ):
            transactions.abort(transaction, now_ms)
            end_prepared(cluster, transactional_id, now_ms)


def _next_timeout_ms(cluster: Cluster) -> int | None:
    """Return when a transaction times out whose coordinator is up; None if there is none."""
    times = (
        transaction.timed_out_ms
        for transaction in cluster.transactions.all()
        if is_reachable(cluster, cluster.transaction_coordinator_id(transaction.transactional_id))
    )
    return min((time_ms for time_ms in times if time_ms is not None), default=None)
