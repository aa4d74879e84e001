"""The log of the transaction coordinators: the partitions of `__transaction_state`."""

from collections.abc import Mapping
from typing import Any

from broker.cluster.internal_topics import (
    TRANSACTION_STATE,
    append_records,
    compact,
    partition_for,
)
from broker.cluster.topics import NO_LEADER, TRANSACTION_STATE_TOPIC, Partition, Topic, TopicTable
from broker.config.api_versions import release_of
from broker.transactions.state_records import (
    PRODUCER_IDS_SINCE,
    transaction_batch,
    transaction_key,
)
from broker.transactions.transaction import Transaction
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode

_NO_COMPRESSION = 0


class TransactionLog:
    """Finds the partition of a transactional id, to which its records are appended.

    `has_producer_ids` is whether the records have all producer ids of a transactional id.
    """

    def __init__(self, topics: TopicTable, config: Mapping[str, Any]) -> None:
        """`config` is that of the start."""
        self._topics = topics
        self.use(config)
        self._partition_count: int = config[TRANSACTION_STATE.partition_count_key]
        self._partition_logs: dict[int, TransactionLogPartition] = {}

    def use(self, config: Mapping[str, Any]) -> None:
        """Write as the release does that the brokers emulate by now; other keys are read-only."""
        self.has_producer_ids = release_of(config) >= PRODUCER_IDS_SINCE

    def partition_index(self, transactional_id: str) -> int:
        """Return the index of the partition of a transactional id, whether or not it exists."""
        return partition_for(transactional_id, self._partition_count)

    def partition(self, transactional_id: str) -> Partition | None:
        """Return the partition of a transactional id, or None if there is no such partition."""
        topic = self._topics.get(TRANSACTION_STATE_TOPIC)
        if topic is None:
            return None
        index, partitions = partition_for(transactional_id, self._partition_count), topic.partitions
        return partitions[index] if index < len(partitions) else None

    def partition_log(self, transactional_id: str) -> "TransactionLogPartition | None":
        """Return where the records of a transactional id go, or None if there is no such partition.

        The coordinator forgets all transactional ids when the topic is deleted.
        """
        topic = self._topics.get(TRANSACTION_STATE_TOPIC)
        partition = self.partition(transactional_id)
        if topic is None or partition is None:
            return None
        known = self._partition_logs.get(partition.partition_index)
        if known is None or known.partition is not partition:
            known = TransactionLogPartition(self, topic, partition)
            self._partition_logs[partition.partition_index] = known
        return known


class TransactionLogPartition:
    """One partition of `__transaction_state`, for the records of its transactional ids."""

    __slots__ = ("_log", "_topic", "partition")

    def __init__(self, log: TransactionLog, topic: Topic, partition: Partition) -> None:
        self._log = log
        self._topic = topic
        self.partition = partition

    def check(self) -> ErrorCode:
        """Return NONE if a record can be appended, else the error of Kafka's coordinator.

        COORDINATOR_NOT_AVAILABLE if too few replicas are in sync.
        """
        topic, partition = self._topic, self.partition
        if partition.leader_id == NO_LEADER:
            return ErrorCode.NOT_COORDINATOR
        if len(partition.isr) < topic.min_insync_replicas and topic.has_too_few_in_sync(partition):
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return ErrorCode.NONE

    # Hot path: a transaction is three records.
    def append_state(
        self, transaction: Transaction, log_transaction_version: int, now_ms: int
    ) -> None:
        """Append the state of a transactional id, after `check`."""
        partition = self.partition
        log, compaction, leader_epoch = partition.log, partition.compaction, partition.leader_epoch
        base_offset = log.log_end_offset
        batch = transaction_batch(
            transaction,
            log_transaction_version,
            base_offset,
            leader_epoch,
            now_ms,
            has_producer_ids=self._log.has_producer_ids,
        )
        log.append(batch, 1, leader_epoch)
        if compaction is not None:
            record = transaction_key(transaction.transactional_id), batch
            if compaction.add(base_offset, (record,), now_ms):
                compact(self._topic, partition, compaction, now_ms)
        if log.waiters:
            log.wake(now_ms)

    def append(self, record: CoordinatorRecord, now_ms: int) -> None:
        """Append another record of a transactional id, after `check`."""
        append_records(self._topic, self.partition, (record,), _NO_COMPRESSION, now_ms)
