"""Store records that no client has sent: choose partitions, build batches, append them.

The batches get the checks of Produce with acks=all. No quota, fault rule or producer id applies.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import NamedTuple

from broker.cluster.cluster import Cluster
from broker.cluster.topics import NO_LEADER, Partition, Topic
from broker.errors import Refusal
from broker.produce.batch_check import check_batch, read_batch
from broker.produce.batch_refusal import BatchRefusal
from broker.produce.stored_batch import StoredBatch
from protocol.batch_builder import BatchBuilder, Headers, record_bytes_max
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, no_pause, paced
from protocol.partition_hash import partition_for_key
from protocol.records import CRC_START, HEADER_BYTES, stamp, stamp_log_append_time

_API_VERSION = 13


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record to store; without a timestamp it gets the time of the cluster.

    Without a partition its key decides, as in the Java client. One without a key gets the partition
    with the lowest end offset.
    """

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class StoredRecord(NamedTuple):
    """Where a record was stored, and with which timestamp."""

    partition: int
    offset: int
    timestamp_ms: int


@dataclass(slots=True)
class _Batch:
    """Records for one partition, and their places in the list of all records."""

    partition: Partition
    builder: BatchBuilder
    places: list[int]


@may_pause
def store_records(
    cluster: Cluster, topic: Topic, records: Sequence[NewRecord], now_ms: int
) -> list[StoredRecord] | Refusal:
    """Append records to a topic, in their order; return where they are.

    If one of them is refused, none is stored.
    """
    if topic.is_read_only:
        message = f"{topic.name} is internal: only coordinators write to it"
        if topic.is_synthetic:
            message = f"{topic.name} is synthetic: nobody writes to it"
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
    indexes = _choose_partitions(topic, records)
    if isinstance(indexes, Refusal):
        return indexes
    batches = [
        (batch, batch.builder.build()) for batch in paced(_batches(topic, records, indexes, now_ms))
    ]
    checked: list[tuple[_Batch, bytes]] = []
    for batch, data in batches:
        found = _check(topic, batch.partition, data, now_ms)
        if isinstance(found, Refusal):
            return found
        checked.append((batch, found))
    base_offsets: list[int] = []
    with no_pause():
        # The check of a batch may pause: a partition may have lost its leader or a replica since.
        for batch, _data in checked:
            refusal = _check_partition(topic, batch.partition)
            if refusal is not None:
                return refusal
        is_log_append_time = topic.is_log_append_time
        for batch, data in checked:
            base_offsets.append(_append(cluster, topic, batch, data, now_ms))
    stored: dict[int, StoredRecord] = {}
    for (batch, _data), base_offset in zip(checked, base_offsets, strict=True):
        for delta, place in enumerate(batch.places):
            timestamp_ms = records[place].timestamp_ms
            if is_log_append_time or timestamp_ms is None:
                timestamp_ms = now_ms
            stored[place] = StoredRecord(indexes[place], base_offset + delta, timestamp_ms)
    return [stored[place] for place in range(len(records))]


@may_pause
def _choose_partitions(topic: Topic, records: Sequence[NewRecord]) -> list[int] | Refusal:
    """Return the index of each record's partition."""
    count = len(topic.partitions)
    led = [part for part in topic.partitions if part.leader_id != NO_LEADER]
    shortest = [(part.log.log_end_offset, part.partition_index) for part in led]
    heapify(shortest)
    indexes = []
    for record in paced(records):
        index = record.partition
        if index is None and record.key is not None:
            index = partition_for_key(record.key, count)
        if index is None:
            if not shortest:
                return Refusal(ErrorCode.LEADER_NOT_AVAILABLE, "no partition has a leader")
            end_offset, index = shortest[0]
            heapreplace(shortest, (end_offset + 1, index))
        if not 0 <= index < count:
            message = f"topic {topic.name!r} has partitions 0 to {count - 1}, not {index}"
            return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
        indexes.append(index)
    return indexes


@may_pause
def _batches(
    topic: Topic, records: Sequence[NewRecord], indexes: Sequence[int], now_ms: int
) -> Iterable[_Batch]:
    """Return the records as batches, those of a partition in their order."""
    closed: list[_Batch] = []
    opened: dict[int, _Batch] = {}
    for place, (record, index) in enumerate(zip(paced(records), indexes, strict=True)):
        batch = opened.get(index)
        size_bytes = record_bytes_max(record.key, record.value, record.headers)
        limit_bytes = min(topic.max_message_bytes, topic.segment_bytes)
        if batch is not None and batch.builder.size_bytes + size_bytes > limit_bytes:
            closed.append(batch)
            batch = None
        if batch is None:
            builder = BatchBuilder("none", max(limit_bytes, HEADER_BYTES + size_bytes))
            batch = opened[index] = _Batch(topic.partitions[index], builder, [])
        timestamp_ms = now_ms if record.timestamp_ms is None else record.timestamp_ms
        batch.builder.append(timestamp_ms, record.key, record.value, record.headers)
        batch.places.append(place)
    return (*closed, *opened.values())


def _check_partition(topic: Topic, partition: Partition) -> Refusal | None:
    if partition.leader_id == NO_LEADER:
        return _refusal(ErrorCode.LEADER_NOT_AVAILABLE, partition, "it has no leader")
    if topic.has_too_few_in_sync(partition):
        message = f"{len(partition.isr)} of {topic.min_insync_replicas} replicas are in sync"
        return _refusal(ErrorCode.NOT_ENOUGH_REPLICAS, partition, message)
    return None


@may_pause
def _check(topic: Topic, partition: Partition, data: bytes, now_ms: int) -> bytes | Refusal:
    """Return the batch as it is stored, or why it is not."""
    refusal = _check_partition(topic, partition)
    if refusal is not None:
        return refusal
    header = read_batch(data, 0, len(data), _API_VERSION)
    assert not isinstance(header, BatchRefusal)
    covered, index = data[CRC_START:], partition.partition_index
    found = check_batch(header, covered, topic, index, now_ms)
    if found is None:
        return data
    if isinstance(found, StoredBatch):
        return found.data()
    reasons = {error.message for error in found.record_errors if error.message is not None}
    return _refusal(found.error_code, partition, "; ".join(sorted(reasons)) or found.error_message)


def _append(cluster: Cluster, topic: Topic, batch: _Batch, data: bytes, now_ms: int) -> int:
    """Append a checked batch; return its base offset."""
    log, epoch = batch.partition.log, batch.partition.leader_epoch
    base_offset = log.log_end_offset
    stamped = stamp(data, 0, len(data), base_offset, epoch)
    if topic.is_log_append_time:
        stamped = stamp_log_append_time(stamped, now_ms)
    log.append(stamped, len(batch.places), epoch)
    cluster.appended(topic, batch.partition, len(stamped), now_ms)
    return base_offset


def _refusal(error_code: int, partition: Partition, message: str | None) -> Refusal:
    name = f"{partition.topic_name}-{partition.partition_index}"
    text = f"{name}: {message}" if message else name
    return Refusal(ErrorCode(error_code), text)
