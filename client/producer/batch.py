"""A batch of records of one partition, from its first record to its response."""

from collections.abc import Sequence
from typing import NamedTuple

from client.errors import ClientError
from client.producer.delivery import OFFSET_UNKNOWN, Delivered, Delivery
from protocol.batch_builder import BatchBuilder, Headers
from protocol.records import read_records

NO_SEQUENCE = -1
SEQUENCE_MODULUS = 2**31


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class Record(NamedTuple):
    """The arguments of `send`; with `partition` None the partitioner chooses."""

    topic: str
    value: bytes | None
    key: bytes | None
    partition: int | None
    headers: Headers
    timestamp_ms: int


class Batch:
    """A batch; mutable and owned by the core.

    `created_ms` is the time of the first record's `send`, from which KIP-91 counts. Batches have
    ascending `number`s. `attempts` counts sends, `no_response` those whose effect is unknown.
    `is_done`: the records have their outcome; the request may still be in flight.
    """

    __slots__ = (
        "_builder",
        "_deliveries",
        "_payload",
        "_timestamps",
        "attempts",
        "base_sequence",
        "bytes_reserved",
        "created_ms",
        "is_done",
        "is_on_wire",
        "last_error",
        "leader_tried",
        "no_response",
        "number",
        "partition",
        "producer_epoch",
        "producer_id",
        "retry_at_ms",
    )

    def __init__(
        self,
        partition: TopicPartition,
        number: int,
        created_ms: int,
        compression: str,
        bytes_max: int,
    ) -> None:
        self.partition = partition
        self.number = number
        self.created_ms = created_ms
        self.attempts = 0
        self.no_response = 0
        self.retry_at_ms = 0
        self.leader_tried: int | None = None
        self.last_error: str | None = None
        self.producer_id = -1
        self.producer_epoch = -1
        self.base_sequence = NO_SEQUENCE
        self.bytes_reserved = 0
        self.is_on_wire = False
        self.is_done = False
        self._builder: BatchBuilder | None = BatchBuilder(compression, bytes_max)
        self._payload: bytes | None = None
        self._deliveries: list[Delivery] = []
        self._timestamps: list[int] = []

    @property
    def record_count(self) -> int:
        """Number of records."""
        return len(self._timestamps)

    @property
    def is_open(self) -> bool:
        """Whether records may still be added."""
        return self._builder is not None

    @property
    def has_sequence(self) -> bool:
        """Whether its records have sequence numbers."""
        return self.base_sequence != NO_SEQUENCE

    @property
    def end_sequence(self) -> int:
        """The sequence number after its last."""
        return (self.base_sequence + self.record_count) % SEQUENCE_MODULUS

    def append(self, record: Record, delivery: Delivery) -> bool:
        """Add a record; False when there is no room for it."""
        assert self._builder is not None
        if not self._builder.append(record.timestamp_ms, record.key, record.value, record.headers):
            return False
        self._deliveries.append(delivery)
        self._timestamps.append(record.timestamp_ms)
        return True

    @property
    def size_bytes(self) -> int:
        """Size on the wire; until the batch is closed, before compression."""
        if self._builder is not None:
            return self._builder.size_bytes
        return len(self.payload)

    def close(self) -> None:
        """Build the record batch; no more records can be added."""
        assert self._builder is not None
        self._payload = self._builder.build()
        self._builder = None

    @property
    def payload(self) -> bytes:
        """The closed batch as bytes, without producer id and sequence number."""
        assert self._payload is not None
        return self._payload

    def halves(self, compression: str) -> "list[Batch]":
        """Split into two batches that keep its age, attempts and sequence numbers."""
        middle = self.record_count // 2
        records = list(read_records(self.payload))
        parts = []
        for start, end in ((0, middle), (middle, self.record_count)):
            part = Batch(self.partition, self.number, self.created_ms, compression, 2**31)
            for record, delivery in zip(
                records[start:end], self._deliveries[start:end], strict=True
            ):
                part.append(
                    Record(
                        self.partition.topic,
                        record.value,
                        record.key,
                        self.partition.partition,
                        record.headers,
                        record.timestamp,
                    ),
                    delivery,
                )
            part.close()
            part.attempts, part.no_response = self.attempts, self.no_response
            part.last_error = self.last_error
            if self.has_sequence:
                part.producer_id, part.producer_epoch = self.producer_id, self.producer_epoch
                part.base_sequence = (self.base_sequence + start) % SEQUENCE_MODULUS
            parts.append(part)
        first, second = parts
        first.bytes_reserved = self.bytes_reserved // 2
        second.bytes_reserved = self.bytes_reserved - first.bytes_reserved
        return parts

    def succeed(self, base_offset: int, log_append_time_ms: int) -> None:
        """Resolve every record with its offset; `base_offset` -1 is unknown."""
        self.is_done = True
        topic, partition = self.partition
        for index, delivery in enumerate(self._deliveries):
            delivery.resolve(
                Delivered(
                    topic,
                    partition,
                    OFFSET_UNKNOWN if base_offset < 0 else base_offset + index,
                    self._timestamps[index] if log_append_time_ms < 0 else log_append_time_ms,
                )
            )

    def fail(self, error: ClientError) -> None:
        """Fail every record."""
        self.is_done = True
        for delivery in self._deliveries:
            delivery.resolve(error)


def insert_by_age(queue: "list[Batch]", batches: Sequence[Batch]) -> None:
    """Insert batches of equal `number` into their partition's queue, before younger ones."""
    position = 0
    while position < len(queue) and queue[position].number < batches[0].number:
        position += 1
    queue[position:position] = batches
