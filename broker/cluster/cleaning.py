"""Clean a log of a compacted topic: because it is dirty, or because somebody asks for it."""

from collections.abc import Generator, Iterator

from broker.cluster.cluster import Cluster
from broker.cluster.log_cleaning import LogCleaning
from broker.cluster.log_to_clean import CleaningSettings, log_to_clean
from broker.cluster.topics import Partition, Topic
from broker.config.api_versions import release_of
from broker.log import log as server_log
from protocol.pacing import may_pause, paced_stream
from protocol.records import OversizedRecordError
from protocol.releases import Release

KEEPS_END_OF_LOG_SINCE: Release = (4, 4)
"""First release that keeps an empty batch only at the high watermark."""
BATCHES_PER_STEP = 10_000
"""Batches that one step adds to segments."""


def is_uncleanable(cluster: Cluster, topic: Topic, partition: Partition) -> bool:
    """Return whether the leader's log cleaner leaves a log alone until it is started again."""
    segments, broker = partition.log.segments, cluster.brokers.get(partition.leader_id)
    if segments is None or segments.uncleanable_for is None or broker is None:
        return False
    is_compacted = topic.on_broker(partition.leader_id).is_compacted
    return is_compacted and segments.uncleanable_for == broker.incarnation


def cleaning_steps(
    cluster: Cluster,
    topic: Topic,
    partition: Partition,
    now_ms: int,
    *,
    is_asked_for: bool = False,
) -> Generator[None, None, LogCleaning | None]:
    """Clean a log in short steps; return what was done, or None for a log that is not cleaned.

    A cleaning that somebody asks for comes whether the log is dirty or not, and also takes what was
    the active segment. In any case records stay that `min.compaction.lag.ms` protects, and those
    behind the last stable offset. The last batch of the cleaned part stays without its records;
    since Kafka 4.4 only the one that ends at the high watermark does. A log that cannot be cleaned
    is left alone from then on.
    """
    log = partition.log
    own = topic.on_broker(partition.leader_id)
    if not own.is_compacted or is_uncleanable(cluster, topic, partition):
        return None
    while log.extend_segments(own.segment_settings, BATCHES_PER_STEP) == BATCHES_PER_STEP:
        yield
    if is_asked_for and log.segments is not None:
        log.segments.roll()
    settings = CleaningSettings.of(own.config)
    found = log_to_clean(partition, settings, now_ms, is_asked_for=is_asked_for)
    if found is None:
        return None
    release = release_of(cluster.config.for_broker(partition.leader_id))
    keeps_end_of_log = release >= KEEPS_END_OF_LOG_SINCE
    kept_end_offset = log.high_watermark if keeps_end_of_log else found.end_offset
    cleaning = LogCleaning(partition, found, settings, kept_end_offset)
    broker = cluster.brokers.get(partition.leader_id)
    try:
        for _ in cleaning.steps(own.segment_settings):
            yield
            if cluster.topics.get(topic.name) is not topic:
                return None  # its records are gone, and counted
    except OversizedRecordError as error:
        assert log.segments is not None
        log.segments.uncleanable_for = None if broker is None else broker.incarnation
        server_log.warning(
            "the log cleaner leaves a partition alone until its leader is started again",
            topic=topic.name,
            partition=partition.partition_index,
            reason=str(error),
        )
        return None
    cluster.freed(partition, cleaning.freed_bytes)
    return cleaning


@may_pause
def compact_now(
    cluster: Cluster, topic: Topic, partition: Partition, now_ms: int
) -> LogCleaning | None:
    """Clean a log because somebody asks for it; return what `cleaning_steps` does."""
    while True:
        found: list[LogCleaning | None] = []
        steps = cleaning_steps(cluster, topic, partition, now_ms, is_asked_for=True)
        for _ in paced_stream(_noted(steps, found), 1):
            pass
        if not found or found[0] is None or found[0].is_done:
            return found[0] if found else None
        # Records were deleted, or the log cleaner began, while it paused.


def _noted(
    steps: Generator[None, None, LogCleaning | None], found: list[LogCleaning | None]
) -> Iterator[None]:
    found.append((yield from steps))
