"""Restore the log of a partition that was saved: records at their offsets, with timestamps."""

from collections.abc import Iterable, Sequence
from heapq import merge

from broker.cluster.cluster import Cluster
from broker.cluster.high_watermark import maybe_move
from broker.cluster.topics import Partition, Topic
from protocol.batch_builder import BatchBuilder, empty_batch, record_bytes_max
from protocol.pacing import may_pause, paced
from protocol.records import HEADER_BYTES, Record, batch_base_offset, read_header, stamp

BATCH_RECORDS_MAX = 500
BATCH_BYTES_MAX = 512 * 1024
OFFSETS_MAX = 2**31 - 1
"""Offsets that one batch can take."""
_LENGTH_BEFORE_COUNTED = 12
"""Bytes of a batch before those that its length counts."""
_MAGIC = 2


@may_pause
def restore_records(
    cluster: Cluster,
    topic: Topic,
    partition: Partition,
    records: Iterable[Record],
    *,
    log_start_offset: int,
    high_watermark: int,
    log_end_offset: int,
    now_ms: int,
    batches: Iterable[bytes] = (),
    leader_epochs: Sequence[tuple[int, int]] = (),
) -> None:
    """Append records to a new partition, at their offsets, and restore where its log begins, ends.

    Records are in the order of their offsets, which lie within the log, and so are `batches`, which
    are stored as they are. Offsets that are missing become empty batches. The checks of Produce do
    not apply: the records passed them once. `leader_epochs` are pairs of an epoch and its first
    offset; without them all records are of the current one. The high watermark moves on if enough
    replicas are in sync.

    Raises:
        ValueError: more than 2^31 offsets are missing in one place, or a batch is none, or is not
            behind the one before it.
    """
    stored = list(batches)
    for batch in stored:
        _check(batch)
    log = partition.log
    log.begin_at(min([log_start_offset, *map(batch_base_offset, stored[:1])]))
    restoring = _Restoring(cluster, topic, partition, high_watermark, leader_epochs, now_ms)
    sources: tuple[Iterable[Record | bytes], ...] = (records, stored)
    for element in paced(merge(*sources, key=_offset_of)):
        if isinstance(element, bytes):
            restoring.append_batch(element)
        else:
            restoring.append_record(element)
    restoring.flush()
    restoring.skip_to(high_watermark)
    restoring.skip_to(log_end_offset)
    if leader_epochs:
        log.set_epochs(leader_epochs)
    elif log.epoch_starts:  # what was deleted before the first record was of its epoch, too
        log.set_epochs([(log.epoch_starts[0][0], 0), *log.epoch_starts[1:]])
    log.advance_start(log_start_offset, topic.on_broker(partition.leader_id).segment_settings)
    log.high_watermark = high_watermark
    maybe_move(topic, partition, now_ms)


def _offset_of(element: Record | bytes) -> int:
    return batch_base_offset(element) if isinstance(element, bytes) else element.offset


def _check(batch: bytes) -> None:
    """Raise ValueError unless the bytes are one batch."""
    if len(batch) >= HEADER_BYTES:
        header = read_header(batch, 0)
        if (
            header.magic == _MAGIC
            and header.batch_length == len(batch) - _LENGTH_BEFORE_COUNTED
            and header.base_offset >= 0 <= header.last_offset_delta
        ):
            return
    raise ValueError(f"{len(batch)} bytes are no record batch")


class _Restoring:
    """A log that is restored, and the records that its next batch will have."""

    def __init__(
        self,
        cluster: Cluster,
        topic: Topic,
        partition: Partition,
        high_watermark: int,
        leader_epochs: Sequence[tuple[int, int]],
        now_ms: int,
    ) -> None:
        self._cluster = cluster
        self._topic = topic
        self._partition = partition
        self._now_ms = now_ms
        self._leader_epochs = leader_epochs
        self._high_watermark = high_watermark
        # A batch begins at the high watermark, up to which consumers read, and with an epoch.
        self._starts = {high_watermark, *(start for _epoch, start in leader_epochs)}
        self._run: list[Record] = []
        self._run_bytes = 0

    def append_record(self, record: Record) -> None:
        """Add a record to the next batch, which has consecutive offsets."""
        run = self._run
        size_bytes = record_bytes_max(record.key, record.value, record.headers)
        if run and not (
            run[-1].offset + 1 == record.offset
            and record.offset not in self._starts
            and len(run) < BATCH_RECORDS_MAX
            and self._run_bytes + size_bytes < BATCH_BYTES_MAX
        ):
            self.flush()
        self._run.append(record)
        self._run_bytes += size_bytes

    def append_batch(self, batch: bytes) -> None:
        """Append a batch as it was stored."""
        self.flush()
        header = read_header(batch, 0)
        self._skip_before(header.base_offset)
        if header.base_offset < self._partition.log.log_end_offset:
            raise ValueError(f"the batch at offset {header.base_offset} is not above those before")
        self._store(batch, header.last_offset_delta + 1, header.partition_leader_epoch)

    def flush(self) -> None:
        """Append the records that wait, as one batch."""
        run, self._run = self._run, []
        if not run:
            return
        self._skip_before(run[0].offset)
        log_end_offset = self._partition.log.log_end_offset
        if run[0].offset < log_end_offset:
            raise ValueError(f"offset {run[0].offset} is not above the one before it")
        builder = BatchBuilder("none", HEADER_BYTES + self._run_bytes)
        for record in run:
            builder.append(record.timestamp, record.key, record.value, record.headers)
        self._run_bytes = 0
        data, epoch = builder.build(), self._epoch_at(log_end_offset)
        self._store(stamp(data, 0, len(data), log_end_offset, epoch), len(run), epoch)

    def _skip_before(self, offset: int) -> None:
        self.skip_to(min(self._high_watermark, offset))
        self.skip_to(offset)

    def skip_to(self, offset: int) -> None:
        """Append an empty batch for the offsets before `offset`, if there are any."""
        log_end_offset = self._partition.log.log_end_offset
        count = offset - log_end_offset
        if count > OFFSETS_MAX:
            raise ValueError(f"{count} offsets without a record are more than {OFFSETS_MAX}")
        if count > 0:
            epoch = self._epoch_at(log_end_offset)
            self._store(empty_batch(count, log_end_offset, epoch, self._now_ms), count, epoch)

    def _epoch_at(self, offset: int) -> int:
        """Return the leader epoch in which an offset was written."""
        written = [epoch for epoch, start in self._leader_epochs if start <= offset]
        return written[-1] if written else self._partition.leader_epoch

    def _store(self, batch: bytes, count: int, epoch: int) -> None:
        self._partition.log.append(batch, count, epoch)
        self._cluster.appended(self._topic, self._partition, len(batch), self._now_ms)
