"""Offsets without records, as the log cleaner leaves them."""

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition, Topic
from protocol.batch_builder import empty_batch


def leave_gap(
    cluster: Cluster, topic: Topic, partition: Partition, count: int, now_ms: int
) -> None:
    """Have the next record come `count` offsets later, one at least.

    The last of these offsets has a batch without records, the others have none: the log cleaner
    removes batches that are empty, except the last one that it has cleaned (Kafka's
    `MemoryRecords.filterTo`).
    """
    log, leader_epoch = partition.log, partition.leader_epoch
    log.has_gaps |= count > 1
    log.log_end_offset += count - 1
    batch = empty_batch(1, log.log_end_offset, leader_epoch, now_ms)
    log.append(batch, 1, leader_epoch)
    cluster.appended(topic, partition, len(batch), now_ms)
