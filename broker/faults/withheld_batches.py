"""The batches that a rule keeps out of their logs until the next batch of the partition."""

from typing import NamedTuple
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition, Topic
from broker.request.acknowledgement import SWAP_BATCHES, RecordChange
from protocol.records import BatchHeader, read_header, stamp

WITHHELD_MAX = 1_000
"""Batches that are withheld at a time, by all rules together."""
WITHHELD_BYTES_MAX = 64 * 1024 * 1024

PartitionKey = tuple[UUID, int]


class Withheld(NamedTuple):
    """A batch that was acknowledged and is not in the log, and the rule that withholds it."""

    batch: bytes
    rule_id: int


def exchange_newest(cluster: Cluster, partition: Partition, batch: bytes | None) -> None:
    """Store another batch with the same offsets, or none, in place of the newest one."""
    log = partition.log
    batches = list(log.rewind())
    newest = batches.pop()
    freed_bytes = len(newest) - len(batch or b"")
    if batch is not None:
        batches.append(batch)
    log.replace_batches(batches, log.log_end_offset, freed_bytes)
    cluster.freed(partition, freed_bytes)
    if batch is None:
        log.log_end_offset = read_header(newest, 0).base_offset
        log.high_watermark = min(log.high_watermark, log.log_end_offset)


def append_again(
    cluster: Cluster, topic: Topic, partition: Partition, batch: bytes, now_ms: int
) -> int:
    """Append a batch that was checked before, and return its new base offset.

    Its producer's state knows it already.
    """
    log, leader_epoch = partition.log, partition.leader_epoch
    base_offset = log.log_end_offset
    stamped = stamp(batch, 0, len(batch), base_offset, leader_epoch)
    log.append(stamped, read_header(batch, 0).last_offset_delta + 1, leader_epoch)
    cluster.appended(topic, partition, len(stamped), now_ms)
    return base_offset


def record_change(
    topic: Topic,
    partition: Partition,
    rule_id: int,
    change: str,
    header: BatchHeader,
    base_offset: int,
) -> RecordChange:
    """Return the note for the audit; `header` has the offset that the producer got."""
    return RecordChange(
        topic.topic_id,
        topic.name,
        partition.partition_index,
        rule_id,
        change,
        base_offset,
        header.base_offset,
        header.records_count,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
    )


class WithheldBatches:
    """At most one batch of each partition."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._by_partition: dict[PartitionKey, Withheld] = {}
        self._size_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._by_partition)

    def obstacle(self, key: PartitionKey, size_bytes: int) -> str | None:
        """Return why a batch of this size cannot be withheld, or None."""
        if key in self._by_partition:
            return "a batch of the partition is withheld"
        if len(self._by_partition) >= WITHHELD_MAX:
            return f"{WITHHELD_MAX} batches are withheld"
        if self._size_bytes + size_bytes > WITHHELD_BYTES_MAX:
            return f"the batches that are withheld have more than {WITHHELD_BYTES_MAX} bytes"
        return None

    def withhold(self, key: PartitionKey, batch: bytes, rule_id: int) -> None:
        """Keep a batch that `obstacle` allows."""
        self._by_partition[key] = Withheld(batch, rule_id)
        self._size_bytes += len(batch)

    def take(self, key: PartitionKey) -> Withheld | None:
        """Keep the batch of a partition no more, and return it if there is one."""
        found = self._by_partition.pop(key, None)
        if found is not None:
            self._size_bytes -= len(found.batch)
        return found

    def release(self, rule_id: int, now_ms: int) -> list[RecordChange]:
        """Append the batches that a rule withholds, for it is removed."""
        changes = []
        for key, withheld in list(self._by_partition.items()):
            if withheld.rule_id != rule_id:
                continue
            self.take(key)
            topic = self._cluster.topics.get_by_id(key[0])
            partition = None if topic is None else topic.partition(key[1])
            if topic is not None and partition is not None:
                changes.append(self.append(topic, partition, withheld, now_ms))
        return changes

    def append(
        self, topic: Topic, partition: Partition, withheld: Withheld, now_ms: int
    ) -> RecordChange:
        """Append a batch that was withheld; return the note for the audit."""
        header = read_header(withheld.batch, 0)
        base_offset = append_again(self._cluster, topic, partition, withheld.batch, now_ms)
        return record_change(topic, partition, withheld.rule_id, SWAP_BATCHES, header, base_offset)
