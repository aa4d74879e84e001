"""Naive brokers that keep all batches, behind connections that a test delays and closes.

A request on a connection that was closed is a zombie: it may still be handled at any later time,
or never. Its response is lost.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from client.producer.actions import PartitionOutcome, ProduceRequest, ProduceResponse, Request
from client.producer.batch import TopicPartition
from protocol.errors import ErrorCode
from protocol.records import read_header, read_records

if TYPE_CHECKING:
    from collections import deque

MODULUS = 2**31


@dataclass
class NaivePartition:
    """A log of values, and the offset of each sequence number by producer id and epoch."""

    values: list[bytes] = field(default_factory=list)
    stored: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)

    def append(self, batch: bytes, *, is_five: bool) -> PartitionOutcome:
        """Check the batch's sequence numbers against all stored ones, and append it."""
        header = read_header(batch, 0)
        values = [read_record.value or b"" for read_record in read_records(batch)]
        producer_id, epoch = header.producer_id, header.producer_epoch
        if producer_id < 0:
            return PartitionOutcome(0, self._add(values))
        if epoch < self.epochs.get(producer_id, epoch):
            return PartitionOutcome(ErrorCode.INVALID_PRODUCER_EPOCH)
        is_known = producer_id in self.epochs
        is_new_epoch = epoch > self.epochs.get(producer_id, epoch)
        numbers = self.stored.setdefault((producer_id, epoch), {})
        first = header.base_sequence
        if first in numbers:
            offset = numbers[first]
            # A batch that was split may be stored in part.
            known = [numbers.get((first + index) % MODULUS) for index in range(len(values))]
            for value, at in zip(values, known, strict=True):
                assert at is None or self.values[at] == value, "a number is used twice"
            if is_five and None in known:
                return PartitionOutcome(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
            if is_five:
                return PartitionOutcome(0, offset)
            is_latest = numbers[first] + len(values) == max(numbers.values()) + 1
            return PartitionOutcome(
                ErrorCode.DUPLICATE_SEQUENCE_NUMBER, offset if is_latest else -1
            )
        if is_new_epoch and first != 0:
            return PartitionOutcome(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        # An unknown producer may start with any sequence number, as in Kafka.
        following = 0 if is_new_epoch else (max(numbers, default=first - 1) + 1)
        if is_known and first < following and not is_five:
            return PartitionOutcome(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
        if is_known and first != following:
            return PartitionOutcome(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        self.epochs[producer_id] = epoch
        base_offset = self._add(values)
        for index in range(len(values)):
            numbers[(first + index) % MODULUS] = base_offset + index
        return PartitionOutcome(0, base_offset)

    def _add(self, values: list[bytes]) -> int:
        self.values += values
        return len(self.values) - len(values)


class NaiveCluster:
    """Partitions, their leaders, and a queue of requests for each connection."""

    def __init__(self, partition_count: int, *, is_five: bool) -> None:
        self.partitions = [NaivePartition() for _ in range(partition_count)]
        self.leaders = [1 + index % 2 for index in range(partition_count)]
        self.leader_epoch = 0
        self.is_five = is_five
        self.requests: dict[int, deque[Request]] = {}
        self.zombies: list[tuple[int, ProduceRequest]] = []
        self.next_producer_id = 100

    def cut(self, node_id: int) -> None:
        """Close a connection; its requests become zombies."""
        for request in self.requests.pop(node_id, ()):
            if isinstance(request, ProduceRequest):
                self.zombies.append((node_id, request))

    def produce(
        self, node_id: int, request: ProduceRequest, throttle_time_ms: int = 0
    ) -> ProduceResponse:
        """Return the response of broker `node_id` to a request."""
        return ProduceResponse(
            {
                TopicPartition(stamped.topic, stamped.partition): self.partitions[
                    stamped.partition
                ].append(stamped.records, is_five=self.is_five)
                if self.leaders[stamped.partition] == node_id
                else PartitionOutcome(ErrorCode.NOT_LEADER_OR_FOLLOWER)
                for stamped in request.data
            },
            throttle_time_ms,
        )
