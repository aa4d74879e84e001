"""Logs that lose their end: a replica leads that had not fetched all of it, or a test asks for it.

What is derived from the records is that of the records that are left. The leader epoch is new in
either case, so that clients notice it (KIP-320).

Sources: Kafka's `UnifiedLog.truncateTo`, `ReplicaFetcherThread.truncate` and
`PartitionChangeBuilder.tryElection`.
"""

from collections.abc import Iterable, Iterator

from broker.cluster.batch_filter import rewritten
from broker.cluster.changed_offsets import LogCut
from broker.cluster.cluster import Cluster
from broker.cluster.internal_topics import index_of_keys
from broker.cluster.topics import NO_LEADER, Partition
from producer_state.truncation import StoredBatch
from protocol.control_records import decode_end_txn_marker
from protocol.pacing import may_pause
from protocol.records import (
    CONTROL_FLAG,
    TRANSACTIONAL_FLAG,
    batch_base_offset,
    last_offset,
    read_header,
    read_records,
    with_header,
)

NO_PRODUCER_ID = -1


@may_pause
def lead_out_of_sync(
    cluster: Cluster, partition: Partition, leader_id: int, now_ms: int, *, is_clean: bool
) -> None:
    """Prepare a replica that is not in sync for leading: the log ends where its own does.

    `is_clean` is false if committed records may be missing in it. A clean leader of an internal
    topic has all records: coordinators do not wait until what they write is committed.
    """
    end_offset = partition.end_of(leader_id)
    has_all = is_clean and partition.is_internal
    if end_offset < partition.log.log_end_offset and not has_all:
        _lose_end(cluster, partition, end_offset, now_ms)
    cluster.set_isr(partition, [leader_id], now_ms, is_clean=is_clean)


@may_pause
def truncate_log(cluster: Cluster, partition: Partition, offset: int, now_ms: int) -> None:
    """Have a log end at `offset`, which is in it, as if no replica in sync had survived.

    A batch with records on both sides of it keeps the first ones, unless it can't be decoded: then
    all of it is lost. The leader stays, in a new epoch.
    """
    if offset < partition.log.log_end_offset:
        rest = _beginning_of_batch(partition, offset)
        base_offset = offset if rest is None else partition.log.base_offset_at(offset)
        _lose_end(cluster, partition, base_offset, now_ms, rest=rest or b"", is_asked=True)
    leader_id = partition.leader_id
    cluster.set_leader(partition, NO_LEADER, now_ms)
    cluster.set_leader(partition, leader_id, now_ms)


@may_pause
def _lose_end(
    cluster: Cluster,
    partition: Partition,
    offset: int,
    now_ms: int,
    *,
    rest: bytes = b"",
    is_asked: bool = False,
) -> None:
    """Cut the log at `offset`, where a batch begins; `rest` is what is left of it."""
    log = partition.log
    high_watermark = log.high_watermark
    lost = log.truncate(LogCut(offset, log.log_end_offset, now_ms, is_asked))
    if rest:
        header = read_header(rest, 0)
        log.append(rest, header.last_offset_delta + 1, header.partition_leader_epoch)
        log.high_watermark = min(high_watermark, log.log_end_offset)
    cluster.freed(partition, sum(map(len, lost)) - len(rest))
    end_offset = log.log_end_offset
    partition.replica_ends = {n: min(end, end_offset) for n, end in partition.replica_ends.items()}
    producer_ids = {read_header(batch, 0).producer_id for batch in lost} - {NO_PRODUCER_ID}
    if producer_ids:
        partition.producers.replay(producer_ids, _stored_batches(log.rewind(), producer_ids))
    if partition.compaction is not None:
        partition.compaction = index_of_keys(log.rewind(), partition.compaction.timers, now_ms)
    if partition.is_internal:
        # It knows the coordinators of groups, which the start does not need.
        from broker.cluster.coordinator_loading import load_what_is_left  # noqa: PLC0415

        load_what_is_left(cluster, partition, lost, now_ms)
    cluster.note_change()


def _stored_batches(batches: Iterable[bytes], producer_ids: set[int]) -> Iterator[StoredBatch]:
    for batch in batches:
        header = read_header(batch, 0)
        if header.producer_id not in producer_ids:
            continue
        coordinator_epoch = None
        if header.attributes & CONTROL_FLAG:
            marker = next(read_records(batch), None)
            if marker is None:
                continue  # cleaned
            coordinator_epoch = decode_end_txn_marker(marker.value or b"")
        yield StoredBatch(
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.last_offset_delta,
            header.base_offset,
            header.max_timestamp,
            bool(header.attributes & TRANSACTIONAL_FLAG),
            coordinator_epoch,
        )


def _beginning_of_batch(partition: Partition, offset: int) -> bytes | None:
    """Return the batch that has `offset` without the records from there on.

    Nothing of it is left if it can't be decoded; it is None if a batch begins there.
    """
    found = partition.log.read(offset, 0, at_least_one=True)
    if not found or not batch_base_offset(found[0]) < offset <= last_offset(found[0]):
        return None
    batch = found[0]
    try:
        records = [record for record in read_records(batch) if record.offset < offset]
    except ValueError:
        return b""
    if not records:
        return b""
    steps, shortened = rewritten(batch, records), b""
    while not shortened:
        try:
            next(steps)
        except StopIteration as stop:
            shortened = stop.value
    header = read_header(shortened, 0)
    return with_header(
        shortened, header._replace(last_offset_delta=offset - 1 - header.base_offset)
    )
