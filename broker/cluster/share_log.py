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
from protocol.records import read_records
from protocol.releases import DEFAULT_RELEASE, Release

GROUPS_HAVE_COLONS_SINCE: Release = (4, 3)
"""First release that takes keys of groups whose id has a colon."""
_UUID_TEXT_LENGTH_MAX = 24
_SNAPSHOT_KEY = (0).to_bytes(2, "big")
"""How the keys of snapshots begin; those of updates begin with 1."""


class ShareLog:
    """Finds the partition of a share partition's state, and appends records to it."""

    def __init__(self, topics: TopicTable, config: BrokerConfig) -> None:
        """`config` is that of the start; all keys that matter here are read-only."""
        self._topics = topics
        self._partition_count: int = config[SHARE_GROUP_STATE.partition_count_key]
        self._compression_codec: int = config["share.coordinator.state.topic.compression.codec"]
        self._snapshots: dict[int, SnapshotOffsets] = {}
        """By partition index."""

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
        offset = partition.log.log_end_offset
        append_records(topic, partition, [record], self._compression_codec, now_ms)
        self._offsets(partition).note(record, offset)
        return None

    def forget_all(self) -> None:
        """Forget where snapshots are: the topic was deleted."""
        self._snapshots.clear()

    def redundant_before(self, partition: Partition) -> int:
        """Return the offset of the first record of a partition that a later leader needs.

        Source: Kafka's `ShareCoordinatorOffsetsManager`.
        """
        return self._offsets(partition).first_needed

    def _offsets(self, partition: Partition) -> "SnapshotOffsets":
        index, log = partition.partition_index, partition.log
        known = self._snapshots.get(index)
        if known is None or known.cut_count != len(log.cuts):
            # The end of the log was lost: the last snapshots may be others.
            known = self._snapshots[index] = SnapshotOffsets(len(log.cuts))
            for batch in log.rewind():
                for record in read_records(batch):
                    known.note((record.key or b"", record.value), record.offset)
        return known


class SnapshotOffsets:
    """Where the last snapshot of each share partition is in one partition of the log."""

    __slots__ = ("_last_deletion", "_offset_of_key", "cut_count")

    def __init__(self, cut_count: int) -> None:
        """`cut_count` is how often the log had lost its end."""
        self.cut_count = cut_count
        self._offset_of_key: dict[bytes, int] = {}
        self._last_deletion = 0

    def note(self, record: CoordinatorRecord, offset: int) -> None:
        """Note an appended record."""
        key, value = record
        if not key.startswith(_SNAPSHOT_KEY):
            return
        if value is None:
            self._offset_of_key.pop(key, None)
            self._last_deletion = offset
        else:
            self._offset_of_key[key] = offset

    @property
    def first_needed(self) -> int:
        """The offset of the oldest of these snapshots, or of the last deletion if there is none."""
        return min(self._offset_of_key.values(), default=self._last_deletion)


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


def parse_coordinator_key(
    text: str, release: Release = DEFAULT_RELEASE
) -> SharePartitionKey | None:
    """Return the share partition of a key of FindCoordinator, or None if the key is invalid.

    Source: `SharePartitionKey.getInstance`.
    """
    # Java's split leaves out empty parts at the end.
    *first, topic_text, index_text = ["", "", *text.rstrip(":").split(":")]
    group_id = ":".join(first[2:])
    if release < GROUPS_HAVE_COLONS_SINCE:
        group_id = group_id.strip()
    has_colon = ":" in group_id and release < GROUPS_HAVE_COLONS_SINCE
    if has_colon or not group_id.strip() or len(topic_text) > _UUID_TEXT_LENGTH_MAX:
        return None
    try:
        topic_id = UUID(bytes=urlsafe_b64decode(topic_text.rstrip("=") + "=="))
        return SharePartitionKey(group_id, topic_id, int(index_text))
    except ValueError:
        return None


def _unavailable() -> Refusal:
    return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available.")
