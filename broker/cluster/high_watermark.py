"""Decide how far the records of a partition are committed: its high watermark.

An append moves it to the end of the log, unless it is held: while fewer replicas are in sync than
min.insync.replicas asks for (ADR 36).

Source: Kafka's `Partition.maybeIncrementLeaderHW` and `isUnderMinIsr`.
"""

from broker.cluster.topics import Partition, Topic


def maybe_move(topic: Topic, partition: Partition, now_ms: int) -> None:
    """Move the high watermark as far as the in-sync replicas allow, and wake who waits for it.

    Call it when the replicas, those in sync or the leader have changed.
    """
    topic.hold_or_release(partition)
    log = partition.log
    if not log.is_high_watermark_held and log.high_watermark < log.log_end_offset:
        log.high_watermark = log.log_end_offset
        log.wake(now_ms)
