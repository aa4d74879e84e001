"""Restore the records of a partition that was saved: at their offsets, with their timestamps."""

from collections.abc import Iterable

from broker.cluster.cluster import Cluster
from broker.cluster.high_watermark import maybe_move
from broker.cluster.topics import Partition, Topic
from protocol.batch_builder import BatchBuilder, empty_batch, record_bytes_max
from protocol.pacing import may_pause, paced
from protocol.records import HEADER_BYTES, Record, stamp

BATCH_RECORDS_MAX = 500
BATCH_BYTES_MAX = 512 * 1024
OFFSETS_MAX = 2**31 - 1
"""Offsets that one batch can take."""


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
) -> None:
    """Append records to a new partition, at their offsets, and restore where its log begins, ends.

    Records are in the order of their offsets, which lie within the log. Offsets that are missing
    become empty batches. The checks of Produce do not apply: the records passed them once. The high
    watermark moves on if enough replicas are in sync.

    Raises:
        ValueError: more than 2^31 offsets are missing in one place.
    """
    log = partition.log
    log.begin_at(log_start_offset)
    run: list[Record] = []
    run_bytes = 0
    for record in paced(records):
        size_bytes = record_bytes_max(record.key, record.value, record.headers)
        # A batch begins at the high watermark, up to which consumers read.
        is_next = bool(run) and run[-1].offset + 1 == record.offset != high_watermark
        if run and not (
            is_next and len(run) < BATCH_RECORDS_MAX and run_bytes + size_bytes < BATCH_BYTES_MAX
        ):
            _append(cluster, topic, partition, run, run_bytes, high_watermark, now_ms)
            run, run_bytes = [], 0
        run.append(record)
        run_bytes += size_bytes
    if run:
        _append(cluster, topic, partition, run, run_bytes, high_watermark, now_ms)
    _skip_to(cluster, topic, partition, high_watermark, now_ms)
    _skip_to(cluster, topic, partition, log_end_offset, now_ms)
    log.high_watermark = high_watermark
    maybe_move(topic, partition, now_ms)


def _skip_to(
    cluster: Cluster, topic: Topic, partition: Partition, offset: int, now_ms: int
) -> None:
    """Append an empty batch for the offsets before `offset`, if there are any."""
    log, epoch = partition.log, partition.leader_epoch
    count = offset - log.log_end_offset
    if count > OFFSETS_MAX:
        raise ValueError(f"{count} offsets without a record are more than {OFFSETS_MAX}")
    if count > 0:
        batch = empty_batch(count, log.log_end_offset, epoch, now_ms)
        log.append(batch, count, epoch)
        cluster.appended(topic, partition, len(batch), now_ms)


def _append(
    cluster: Cluster,
    topic: Topic,
    partition: Partition,
    run: list[Record],
    run_bytes: int,
    high_watermark: int,
    now_ms: int,
) -> None:
    """Append records with consecutive offsets as one batch."""
    log, epoch = partition.log, partition.leader_epoch
    _skip_to(cluster, topic, partition, min(high_watermark, run[0].offset), now_ms)
    _skip_to(cluster, topic, partition, run[0].offset, now_ms)
    builder = BatchBuilder("none", HEADER_BYTES + run_bytes)
    for record in run:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    data = builder.build()
    batch = stamp(data, 0, len(data), log.log_end_offset, epoch)
    log.append(batch, len(run), epoch)
    cluster.appended(topic, partition, len(batch), now_ms)
