"""The log of the transaction coordinators: the partitions of `__transaction_state`."""

from broker.cluster.internal_topics import TRANSACTION_STATE, append_records, partition_for
from broker.cluster.topics import NO_LEADER, TRANSACTION_STATE_TOPIC, Partition, TopicTable
from broker.config.broker_config import BrokerConfig
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode

_NO_COMPRESSION = 0


class TransactionLog:
    """Finds the partition of a transactional id, and appends the records of transactions to it."""

    def __init__(self, topics: TopicTable, config: BrokerConfig) -> None:
        """`config` is that of the start; all keys that matter here are read-only."""
        self._topics = topics
        self._partition_count: int = config[TRANSACTION_STATE.partition_count_key]

    def partition_index(self, transactional_id: str) -> int:
        """Return the index of the partition of a transactional id, whether or not it exists."""
        return partition_for(transactional_id, self._partition_count)

    def partition(self, transactional_id: str) -> Partition | None:
        """Return the partition of a transactional id, or None if there is no such partition."""
        topic = self._topics.get(TRANSACTION_STATE_TOPIC)
        if topic is None:
            return None
        return topic.partition(partition_for(transactional_id, self._partition_count))

    def check(self, transactional_id: str) -> ErrorCode:
        """Return NONE if a record can be appended, else the error of Kafka's coordinator.

        COORDINATOR_NOT_AVAILABLE if too few replicas are in sync.
        """
        topic = self._topics.get(TRANSACTION_STATE_TOPIC)
        if topic is None:
            return ErrorCode.NOT_COORDINATOR
        partition = topic.partition(partition_for(transactional_id, self._partition_count))
        if partition is None or partition.leader_id == NO_LEADER:
            return ErrorCode.NOT_COORDINATOR
        if topic.has_too_few_in_sync(partition):
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return ErrorCode.NONE

    def append(self, transactional_id: str, record: CoordinatorRecord, now_ms: int) -> None:
        """Append the record of a transactional id, after `check`."""
        topic = self._topics.get(TRANSACTION_STATE_TOPIC)
        assert topic is not None
        partition = topic.partition(partition_for(transactional_id, self._partition_count))
        assert partition is not None
        append_records(topic, partition, (record,), _NO_COMPRESSION, now_ms)
