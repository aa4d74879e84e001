"""A compacted topic, what is appended to it, and what a consumer reads of it."""

from broker.cluster.background_tasks import start_background_tasks
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition
from broker.cluster.transaction_index import AbortedTransaction
from protocol.batch_builder import BatchBuilder, stamp_producer
from protocol.control_records import ControlRecordType, encode_end_txn_batch
from protocol.records import (
    Record,
    has_valid_crc,
    last_offset,
    read_header,
    read_records,
    stamp,
    stamp_log_append_time,
)
from tests.broker.cluster_builder import NOW_MS, make_cluster

BACKOFF_MS = 15_000
HOUR_MS = 3_600_000
SEGMENT = 1 << 20
CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(SEGMENT),
    "min.cleanable.dirty.ratio": "0.01",
}
FILL = b"x" * 400_000
"""Two records of this size fit in a segment, a third one does not."""
Pair = tuple[bytes | None, bytes | None]


class CleanedTopic:
    """A topic with one partition in a cluster with its tasks."""

    def __init__(self, release: str = "4.4", **config: str) -> None:
        self.cluster: Cluster = make_cluster(**{"broker.api.versions": release})
        start_background_tasks(self.cluster, NOW_MS)
        self.now_ms = NOW_MS
        overrides = CONFIG | {name.replace("_", "."): value for name, value in config.items()}
        self.topic = self.cluster.create_topic("a", [(1,)], overrides)

    @property
    def partition(self) -> Partition:
        return self.topic.partitions[0]

    def append(
        self,
        *records: Pair,
        timestamp: int | None = None,
        compression: str = "none",
        producer: tuple[int, int, int] | None = None,
        is_transactional: bool = False,
        is_log_append_time: bool = False,
    ) -> int:
        """Append a batch; return its base offset. `producer` has id, epoch and sequence."""
        builder = BatchBuilder(compression, 1 << 24)
        time_ms = self.now_ms if timestamp is None else timestamp
        for key, value in records:
            builder.append(time_ms, key, value, (("h", b"v"),))
        batch = builder.build()
        if producer is not None:
            batch = stamp_producer(batch, *producer, is_transactional=is_transactional)
        return self.store(batch, len(records), is_log_append_time=is_log_append_time)

    def store(self, batch: bytes, count: int, *, is_log_append_time: bool = False) -> int:
        partition, log = self.partition, self.partition.log
        offset = log.log_end_offset
        stamped = stamp(batch, 0, len(batch), offset, partition.leader_epoch)
        if is_log_append_time:
            stamped = stamp_log_append_time(stamped, self.now_ms)
        header = read_header(stamped, 0)
        if header.producer_id >= 0 and header.base_sequence >= 0:
            partition.producers.apply(
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.last_offset_delta,
                offset,
                header.max_timestamp,
                is_transactional=bool(header.attributes & 0x10),
            )
        log.append(stamped, count, partition.leader_epoch)
        log.appended_ms = self.now_ms
        self.cluster.log_bytes += len(stamped)
        return offset

    def fill(self, *, timestamp: int | None = None) -> None:
        """Begin a new segment: nothing before it is in the active one."""
        for number in range(3):
            self.append((b"fill%d" % number, FILL), timestamp=timestamp)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> int:
        partition, log = self.partition, self.partition.log
        kind = ControlRecordType.COMMIT if is_commit else ControlRecordType.ABORT
        offset = log.log_end_offset
        marker = encode_end_txn_batch(
            kind,
            producer_id=producer_id,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp_ms=self.now_ms,
            base_offset=offset,
            leader_epoch=0,
        )
        first_offset = partition.producers.apply_marker(producer_id, 0, 0, self.now_ms)
        log.append(marker, 1, 0)
        log.appended_ms = self.now_ms
        self.cluster.log_bytes += len(marker)
        if not is_commit:
            log.transaction_index.append(
                AbortedTransaction(producer_id, first_offset, offset, partition.last_stable_offset)
            )
        return offset

    def advance(self, duration_ms: int = BACKOFF_MS) -> None:
        self.now_ms += duration_ms
        timers = self.cluster.timers
        while (due_ms := timers.next_due_ms()) is not None and due_ms <= self.now_ms:
            timers.run_due(due_ms)

    def batches(self) -> list[bytes]:
        return list(self.partition.log.rewind())

    def records(self) -> list[Record]:
        """Return what a consumer reads that fetches one batch after the other."""
        log = self.partition.log
        found: list[Record] = []
        position = log.log_start_offset
        while position < log.log_end_offset:
            batches = log.read(position, 1, at_least_one=True)
            if not batches:
                break
            header = read_header(batches[0], 0)
            assert has_valid_crc(batches[0], 0, len(batches[0]), header.crc)
            if not header.attributes & 0x20:
                found += [
                    record for record in read_records(batches[0]) if record.offset >= position
                ]
            assert last_offset(batches[0]) >= position
            position = last_offset(batches[0]) + 1
        return found

    def seen(self) -> list[tuple[int, bytes | None]]:
        return [
            (record.offset, record.key)
            for record in self.records()
            if not (record.key or b"").startswith(b"fill")
        ]
