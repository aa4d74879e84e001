"""The log of share coordinators: the partitions of `__share_group_state`.

A state is its last snapshot and the updates behind it. Records before the oldest of these snapshots
are deleted: regularly, as in Kafka (`broker/cluster/share_pruning.py`), and at once when there are
more than `STALE_RECORDS_MIN` of them, or two for each state, since the log is in memory.

Sources: Kafka's `ShareCoordinatorOffsetsManager`, `ShareCoordinatorService.performRecordPruning`
and `ShareCoordinatorShard.snapshotColdPartitions`.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from functools import lru_cache
from uuid import UUID

from broker.cluster.compaction import STALE_RECORDS_MIN
from broker.cluster.internal_topics import SHARE_GROUP_STATE, append_records, partition_for_hash
from broker.cluster.topics import Partition, Topic, TopicTable
from broker.config.broker_config import BrokerConfig
from broker.errors import Refusal
from broker.share_groups.share_state import SharePartitionKey, is_snapshot
from broker.timers import SteppedWork, Timers
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode
from protocol.hash_order import joined_hash, string_hash
from protocol.releases import DEFAULT_RELEASE, Release

GROUPS_HAVE_COLONS_SINCE: Release = (4, 3)
"""First release that takes keys of groups whose id has a colon."""
_UUID_TEXT_LENGTH_MAX = 24
_DELETIONS_PER_STEP = 50

WriteSnapshot = Callable[[SharePartitionKey, int], Refusal | None]
"""`write(key, now_ms)` stores a state again, as a snapshot; it returns why it could not."""


class ShareLog:
    """Finds the partition of a share partition's state, and appends records to it."""

    def __init__(
        self,
        topics: TopicTable,
        config: BrokerConfig,
        timers: Timers,
        write_snapshot: WriteSnapshot,
    ) -> None:
        """`config` is that of the start; all keys that matter here are read-only."""
        self._topics = topics
        self._write_snapshot = write_snapshot
        self._snapshots: dict[int, dict[SharePartitionKey, int]] = {}
        """By partition: the offset of the last snapshot of each state, the oldest first."""
        self._last_deletions: dict[int, int] = {}
        """By partition: the offset of the last record that deleted a state."""
        self._to_prune: dict[int, None] = {}
        self._pruning = SteppedWork(timers, self._prune_one)
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
        offset = partition.log.log_end_offset
        append_records(topic, partition, [record], self._compression_codec, now_ms)
        snapshots = self._snapshots.setdefault(partition.partition_index, {})
        note_snapshot(snapshots, key, record, offset)
        if record[1] is None:
            self._last_deletions[partition.partition_index] = offset
        if _has_many_records(partition, snapshots):
            self._to_prune[partition.partition_index] = None
            self._pruning.plan(now_ms)
        return None

    def replace_snapshots(self, index: int, snapshots: dict[SharePartitionKey, int]) -> None:
        """Have a partition know these offsets of snapshots, the oldest first: it was loaded."""
        self._snapshots[index] = snapshots
        self._last_deletions.pop(index, None)

    def forget_all(self) -> None:
        """Drop what is known of the log, which was deleted."""
        self._snapshots.clear()
        self._last_deletions.clear()
        self._to_prune.clear()

    def redundant_before(self, partition: Partition) -> int:
        """Return the offset of the first record of a partition that a later leader needs.

        Source: Kafka's `ShareCoordinatorOffsetsManager`.
        """
        index = partition.partition_index
        snapshots = self._snapshots.get(index)
        if not snapshots:
            return self._last_deletions.get(index, 0)
        return snapshots[next(iter(snapshots))]

    def _prune_one(self, now_ms: int) -> bool:
        """Do the next step in one of the partitions; return whether there is more to do."""
        topic = self._topics.get(SHARE_GROUP_STATE.name)
        for index in tuple(self._to_prune)[:1]:
            partition = None if topic is None else topic.partition(index)
            if topic is None or partition is None or not self._prune(topic, partition, now_ms):
                del self._to_prune[index]
        return bool(self._to_prune)

    def _prune(self, topic: Topic, partition: Partition, now_ms: int) -> bool:
        """Delete records that are not needed; return whether there may be more of them.

        The oldest state is written again if nothing can be deleted otherwise.
        """
        log, snapshots = partition.log, self._snapshots.get(partition.partition_index, {})
        for _ in range(_DELETIONS_PER_STEP):
            is_committed = log.high_watermark == log.log_end_offset
            if not is_committed or not _has_many_records(partition, snapshots):
                return False
            oldest = next(iter(snapshots), None)
            needed_offset = self.redundant_before(partition)
            if needed_offset > log.log_start_offset:
                settings = topic.on_broker(partition.leader_id).segment_settings
                log.advance_start(needed_offset, settings)
                log.wake(now_ms)
            elif oldest is None or self._write_snapshot(oldest, now_ms) is not None:
                return False
        return True


def note_snapshot(
    snapshots: dict[SharePartitionKey, int],
    key: SharePartitionKey,
    record: CoordinatorRecord,
    offset: int,
) -> None:
    """Note a record of a state: where its last snapshot is, and that it has none any more."""
    encoded_key, value = record
    if is_snapshot(encoded_key):
        snapshots.pop(key, None)  # so that it comes last
        if value is not None:
            snapshots[key] = offset


def _has_many_records(partition: Partition, snapshots: dict[SharePartitionKey, int]) -> bool:
    count = partition.log.log_end_offset - partition.log.log_start_offset
    return count > STALE_RECORDS_MIN + 2 * len(snapshots)


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
