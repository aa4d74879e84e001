"""The records that a recording keeps, in bounded memory: the newest of each partition.

Records of a transaction are kept apart until its outcome is known.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from protocol.records import Record

PartitionKey = tuple[str, int]
"""Topic name and partition index."""
RECORD_OVERHEAD_BYTES = 64
"""What a record counts beside its key, value and headers."""


@dataclass(slots=True)
class _Partition:
    """The records of a partition by offset; those of open transactions by producer id, too."""

    records: dict[int, Record] = field(default_factory=dict)
    offsets: list[int] = field(default_factory=list)
    """A heap of the offsets of `records`."""
    undecided: dict[int, dict[int, Record]] = field(default_factory=dict)
    size_bytes: int = 0


class KeptRecords:
    """Records by partition and offset."""

    def __init__(self, bytes_max: int, records_max: int | None = None) -> None:
        """Keep at most so many bytes of all partitions, and so many records of each.

        The oldest records of the partition with the most bytes go first.
        """
        self._bytes_max = bytes_max
        self._records_max = records_max
        self._partitions: dict[PartitionKey, _Partition] = {}
        self._size_bytes = 0
        self.forgotten_count = 0
        """Records that were removed because of the bound of bytes."""

    def add(self, key: PartitionKey, records: Iterable[Record]) -> None:
        """Keep records; one whose offset is there already is the same record."""
        partition = self._partitions.setdefault(key, _Partition())
        for record in records:
            self._add(partition, record)
        self._shrink()

    def add_undecided(self, key: PartitionKey, producer_id: int, records: Iterable[Record]) -> None:
        """Keep records of a transaction whose outcome is not known yet."""
        partition = self._partitions.setdefault(key, _Partition())
        held = partition.undecided.get(producer_id, {})
        for record in records:
            if record.offset not in partition.records and record.offset not in held:
                held[record.offset] = record
                partition.undecided[producer_id] = held
                self._count(partition, size_of(record))
        self._shrink()

    def decide(
        self, key: PartitionKey, producer_id: int, marker_offset: int, *, is_committed: bool
    ) -> None:
        """Take the outcome of a transaction from its marker in a partition."""
        partition = self._partitions.get(key)
        if partition is not None:
            self._decide(partition, producer_id, marker_offset, is_committed=is_committed)

    def decide_all(self, producer_id: int, *, is_committed: bool) -> None:
        """Take the outcome of a producer's transaction in all partitions."""
        for partition in self._partitions.values():
            self._decide(partition, producer_id, None, is_committed=is_committed)

    def partitions(self) -> list[PartitionKey]:
        """Return the partitions with records, sorted."""
        return sorted(key for key, partition in self._partitions.items() if partition.records)

    def records(self, key: PartitionKey) -> list[Record]:
        """Return the records of a partition by offset, without undecided ones."""
        partition = self._partitions.get(key)
        return (
            [] if partition is None else [partition.records[n] for n in sorted(partition.records)]
        )

    def count(self, key: PartitionKey) -> int:
        """Return how many records of a partition are kept, without undecided ones."""
        partition = self._partitions.get(key)
        return 0 if partition is None else len(partition.records)

    @property
    def size_bytes(self) -> int:
        """About how many bytes all records take, with undecided ones."""
        return self._size_bytes

    @property
    def undecided_count(self) -> int:
        """The number of records whose transaction has no known outcome."""
        return sum(
            len(held)
            for partition in self._partitions.values()
            for held in partition.undecided.values()
        )

    def _decide(
        self, partition: _Partition, producer_id: int, end_offset: int | None, *, is_committed: bool
    ) -> None:
        held = partition.undecided.get(producer_id, {})
        decided = [n for n in held if end_offset is None or n < end_offset]
        for offset in decided:
            record = held.pop(offset)
            self._count(partition, -size_of(record))
            if is_committed:
                self._add(partition, record)
        if not held:
            partition.undecided.pop(producer_id, None)

    def _add(self, partition: _Partition, record: Record) -> None:
        if record.offset in partition.records:
            return
        partition.records[record.offset] = record
        heapq.heappush(partition.offsets, record.offset)
        self._count(partition, size_of(record))
        if self._records_max is not None and len(partition.records) > self._records_max:
            self._forget_oldest(partition)

    def _count(self, partition: _Partition, size_bytes: int) -> None:
        partition.size_bytes += size_bytes
        self._size_bytes += size_bytes

    def _forget_oldest(self, partition: _Partition) -> None:
        if partition.offsets:
            record = partition.records.pop(heapq.heappop(partition.offsets))
        else:
            producer_id, held = next(iter(partition.undecided.items()))
            record = held.pop(min(held))
            if not held:
                del partition.undecided[producer_id]
        self._count(partition, -size_of(record))

    def _shrink(self) -> None:
        while self._size_bytes > self._bytes_max:
            largest = max(self._partitions.values(), key=lambda partition: partition.size_bytes)
            # Not record by record: to look for the largest partition takes its time.
            enough = largest.size_bytes - largest.size_bytes // 8
            while largest.size_bytes >= max(enough, 1) and self._size_bytes > self._bytes_max:
                self._forget_oldest(largest)
                self.forgotten_count += 1


def size_of(record: Record) -> int:
    """Return about how many bytes a record takes."""
    return RECORD_OVERHEAD_BYTES + sum(map(len, _parts(record)))


def _parts(record: Record) -> Iterator[bytes | str]:
    yield record.key or b""
    yield record.value or b""
    for name, value in record.headers:
        yield name
        yield value or b""
