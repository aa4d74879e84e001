"""The log of share coordinators: the partitions of `__share_group_state`."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from uuid import UUID

from broker.cluster.internal_topics import SHARE_GROUP_STATE, append_records, partition_for_hash
from broker.cluster.topics import Partition, TopicTable
from broker.config.broker_config import BrokerConfig
from broker.errors import Refusal
from broker.share_groups.share_state import SharePartitionKey
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode
from protocol.hash_order import joined_hash, string_hash

_UUID_TEXT_LENGTH_MAX = 24


class ShareLog:
    """Finds the partition of a share partition's state, and appends records to it."""

    def __init__(self, topics: TopicTable, config: BrokerConfig) -> None:
        """`config` is that of the start; all keys that matter here are read-only."""
        self._topics = topics
        self._partition_count: int = config[SHARE_GROUP_STATE.partition_count_key]
        self._compression_codec: int = config["share.coordinator.state.topic.compression.codec"]

    def partition(self, key: SharePartitionKey) -> Partition | None:
        """Return the partition of a state, or None if there is no such topic or partition."""
        topic = self._topics.get(SHARE_GROUP_STATE.name)
        if topic is None:
            return None
        # A request may name thousands of partitions of a group with a long id.
        key_hash = joined_hash(_group_hash(key.group_id), _key_after_group(key))
        return topic.partition(partition_for_hash(key_hash, self._partition_count))

    def append(
        self, key: SharePartitionKey, record: CoordinatorRecord, now_ms: int
    ) -> Refusal | None:
        """Append a record of a state, or return COORDINATOR_NOT_AVAILABLE."""
        topic, partition = self._topics.get(SHARE_GROUP_STATE.name), self.partition(key)
        if topic is None or partition is None or partition.leader_id < 0:
            return _unavailable()
        if len(partition.isr) < min(topic.min_insync_replicas, len(partition.replicas)):
            return _unavailable()
        append_records(topic, partition, [record], self._compression_codec, now_ms)
        return None


def coordinator_key(key: SharePartitionKey) -> str:
    """Return the key that FindCoordinator has for a share partition."""
    return key.group_id + _key_after_group(key)


def topic_id_text(topic_id: UUID) -> str:
    """Return a topic id as Kafka's `Uuid.toString` writes it: base64 without padding."""
    return urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def _key_after_group(key: SharePartitionKey) -> str:
    return f":{topic_id_text(key.topic_id)}:{key.partition_index}"


@lru_cache(maxsize=16)
def _group_hash(group_id: str) -> int:
    return string_hash(group_id)


def parse_coordinator_key(text: str) -> SharePartitionKey | None:
    """Return the share partition of a key of FindCoordinator, or None if the key is invalid."""
    parts = text.split(":")
    if len(parts) != 3 or not parts[0].strip() or len(parts[1]) > _UUID_TEXT_LENGTH_MAX:
        return None
    try:
        topic_id = UUID(bytes=urlsafe_b64decode(parts[1].rstrip("=") + "=="))
        return SharePartitionKey(parts[0].strip(), topic_id, int(parts[2]))
    except ValueError:
        return None


def _unavailable() -> Refusal:
    return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available.")
