"""Decide how far the records of a partition are committed: its high watermark.

An append moves it to the end of the log, unless it is held. It is held while fewer replicas are in
sync than min.insync.replicas asks for. Each change of what that depends on ends here.

Source: Kafka's `Partition.maybeIncrementLeaderHW` and `isUnderMinIsr`.
"""

from broker.cluster.topics import Partition, Topic


def hold_or_release(topic: Topic, partition: Partition) -> None:
    """Have the next appends move the high watermark, or not; it stays where it is.

    This is what a new min.insync.replicas does: Kafka looks at it when it has another reason to.
    """
    led = topic.on_broker(partition.leader_id)
    partition.log.is_high_watermark_held = led.has_too_few_in_sync(partition)


def maybe_move(topic: Topic, partition: Partition, now_ms: int) -> None:
    """Move the high watermark as far as the in-sync replicas allow, and wake who waits for it.

    Call it when the replicas, those in sync or the leader have changed.
    """
    hold_or_release(topic, partition)
    log = partition.log
    if not log.is_high_watermark_held and log.high_watermark < log.log_end_offset:
        log.high_watermark = log.log_end_offset
        log.wake(now_ms)
