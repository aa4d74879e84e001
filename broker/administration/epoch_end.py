"""The end offset of a leader epoch, by which a client detects a truncated log.

Source: Kafka's `LeaderEpochFileCache.endOffsetFor`.
"""

from broker.cluster.topics import Partition

UNDEFINED = (-1, -1)
"""Undefined epoch and offset."""


def epoch_end_offset(partition: Partition, leader_epoch: int) -> tuple[int, int]:
    """Return the largest epoch in the log up to `leader_epoch`, and its end offset.

    The current epoch ends at the log's end, even before its first record. An epoch in the future
    is UNDEFINED; one older than all records ends at the log start offset.
    """
    starts = epoch_starts(partition)
    current_epoch = starts[-1][0]
    if leader_epoch == current_epoch:
        return current_epoch, partition.log.log_end_offset
    if not 0 <= leader_epoch < current_epoch:
        return UNDEFINED
    found_epoch = leader_epoch
    for epoch, start_offset in starts:
        if epoch > leader_epoch:
            return found_epoch, start_offset
        found_epoch = epoch
    raise AssertionError("the current epoch is larger")


def epoch_starts(partition: Partition) -> list[tuple[int, int]]:
    """Return the epochs of the log with their first offsets, ascending; never empty."""
    log = partition.log
    starts = list(log.epoch_starts)
    if not starts or starts[-1][0] < partition.leader_epoch:
        # Kafka's leader adds its epoch when it becomes leader; this log with the first record.
        starts.append((partition.leader_epoch, log.log_end_offset))
    while len(starts) > 1 and starts[1][1] <= log.log_start_offset:
        del starts[0]
    epoch, start_offset = starts[0]
    starts[0] = (epoch, max(start_offset, log.log_start_offset))
    return starts
