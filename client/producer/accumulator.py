"""Records before they are sent: by topic until its partitions are known, then in batches."""

from collections.abc import Callable

from client.producer.batch import Batch, Record, TopicPartition, insert_by_age
from client.producer.delivery import BufferFullError, Delivery, RecordTooLargeError
from client.producer.partitioner import StickyPartitioner
from client.producer.settings import ProducerSettings
from client.producer.topic_metadata import TopicMetadata
from protocol.batch_builder import record_bytes_max
from protocol.partition_hash import partition_for_key
from protocol.records import HEADER_BYTES

WaitingRecord = tuple[Record, Delivery, int, int]
"""A record without a partition, its delivery, the time of its `send`, and the bytes reserved."""


class RecordAccumulator:
    """Batches per partition, oldest first, and a bound on the memory of them all."""

    def __init__(self, settings: ProducerSettings, random: Callable[[], float]) -> None:
        self._settings = settings
        self._sticky = StickyPartitioner(random)
        self._batch_number = 0
        self.queues: dict[TopicPartition, list[Batch]] = {}
        self.waiting: dict[str, list[WaitingRecord]] = {}
        self.bytes_reserved = 0
        self._is_starved = False
        self._flushed_until_ms = -1

    def reserve(self, record: Record) -> int:
        """Reserve memory for a record; return how many bytes.

        Raises:
            RecordTooLargeError: it would never fit.
            BufferFullError: it doesn't fit now.
        """
        size = record_bytes_max(record.key, record.value, record.headers) + HEADER_BYTES
        limit = min(self._settings.max_request_size, self._settings.buffer_memory)
        if size > limit:
            raise RecordTooLargeError(
                f"a record of up to {size} bytes; max_request_size and buffer_memory allow {limit}"
            )
        if self.bytes_reserved + size > self._settings.buffer_memory:
            self._is_starved = True
            raise BufferFullError(f"buffer_memory={self._settings.buffer_memory} is in use")
        self.bytes_reserved += size
        return size

    def release(self, bytes_reserved: int) -> None:
        """Release reserved memory."""
        self.bytes_reserved -= bytes_reserved
        self._is_starved = False

    def flush(self, now_ms: int) -> None:
        """End the lingering of all batches created until now."""
        self._flushed_until_ms = now_ms

    def is_lingering(self, batch: Batch, now_ms: int) -> bool:
        """Return whether a batch may wait for more records: no `flush`, no wait for memory."""
        return (
            batch.is_open
            and now_ms - batch.created_ms < self._settings.linger_ms
            and batch.created_ms > self._flushed_until_ms
            and not self._is_starved
        )

    def add(
        self,
        record: Record,
        delivery: Delivery,
        created_ms: int,
        bytes_reserved: int,
        metadata: TopicMetadata,
    ) -> None:
        """Add a record to a batch, or keep it until its partition is known to exist."""
        partition = self._choose(record, metadata)
        if partition is None:
            self.waiting.setdefault(record.topic, []).append(
                (record, delivery, created_ms, bytes_reserved)
            )
            metadata.add_topic(record.topic)
            if metadata.partition_count(record.topic):
                metadata.refresh()  # the requested partition may be new
        else:
            self._append(partition, record, delivery, created_ms, bytes_reserved)

    def place_waiting(self, metadata: TopicMetadata) -> None:
        """Add waiting records to batches if their partitions are known now, in order of `send`."""
        for topic in list(self.waiting):
            left = []
            for entry in self.waiting.pop(topic):
                record, delivery, created_ms, bytes_reserved = entry
                partition = self._choose(record, metadata)
                if partition is None:
                    left.append(entry)
                else:
                    self._append(partition, record, delivery, created_ms, bytes_reserved)
            if left:
                self.waiting[topic] = left

    def take_waiting(self, topic: str) -> list[WaitingRecord]:
        """Remove and return a topic's waiting records; the caller resolves them."""
        return self.waiting.pop(topic, [])

    def take_expired_waiting(self, created_until_ms: int) -> list[WaitingRecord]:
        """Remove and return the waiting records sent at that time or before."""
        expired: list[WaitingRecord] = []
        for topic, entries in list(self.waiting.items()):
            count = 0
            while count < len(entries) and entries[count][2] <= created_until_ms:
                count += 1
            expired += entries[:count]
            del entries[:count]
            if not entries:
                del self.waiting[topic]
        return expired

    def pop(self, batch: Batch) -> None:
        """Remove the oldest batch of a partition and close it."""
        queue = self.queues[batch.partition]
        assert queue[0] is batch
        if batch.is_open:
            self._close(batch)
        del queue[0]
        del self.queues[batch.partition]
        if queue:
            self.queues[batch.partition] = queue  # at the end: the other partitions are next

    def split_queued(self, batch: Batch) -> Batch:
        """Replace the oldest batch of a partition by two; return the first."""
        queue = self.queues[batch.partition]
        assert queue[0] is batch
        if batch.is_open:
            self._close(batch)
        queue[:1] = batch.halves(self._settings.compression_type)
        return queue[0]

    def remove(self, batch: Batch) -> None:
        """Remove a batch that won't be sent any more."""
        queue = self.queues[batch.partition]
        queue.remove(batch)
        self._sticky.batch_closed(*batch.partition)
        if not queue:
            del self.queues[batch.partition]

    def put_back(self, batches: list[Batch]) -> None:
        """Queue one batch again, or its parts, before all younger ones."""
        insert_by_age(self.queues.setdefault(batches[0].partition, []), batches)

    def expired(self, created_until_ms: int) -> list[Batch]:
        """Return the batches created at that time or before, oldest first in each partition."""
        expired: list[Batch] = []
        for queue in self.queues.values():
            for batch in queue:
                if batch.created_ms > created_until_ms:
                    break
                expired.append(batch)
        return expired

    def _choose(self, record: Record, metadata: TopicMetadata) -> int | None:
        count = metadata.partition_count(record.topic)
        if count == 0:
            return None
        if record.partition is not None:
            return record.partition if record.partition < count else None
        if record.key is not None:
            return partition_for_key(record.key, count)
        return self._sticky.partition(record.topic, metadata.candidates(record.topic))

    def _append(
        self,
        partition: int,
        record: Record,
        delivery: Delivery,
        created_ms: int,
        bytes_reserved: int,
    ) -> None:
        topic_partition = TopicPartition(record.topic, partition)
        queue = self.queues.setdefault(topic_partition, [])
        if queue and queue[-1].is_open:
            if queue[-1].append(record, delivery):
                queue[-1].bytes_reserved += bytes_reserved
                return
            self._close(queue[-1])
        self._batch_number += 1
        batch = Batch(
            topic_partition,
            self._batch_number,
            created_ms,
            self._settings.compression_type,
            self._settings.batch_size,
        )
        assert batch.append(record, delivery), "a batch takes its first record"
        batch.bytes_reserved = bytes_reserved
        queue.append(batch)

    def _close(self, batch: Batch) -> None:
        batch.close()
        self._sticky.batch_closed(*batch.partition)
