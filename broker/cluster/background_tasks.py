"""Regular tasks: retention, compaction, expiry of producers and tokens, ends of transactions."""

from collections.abc import Iterable, Iterator

from broker.cluster.cleaning import cleaning_steps, is_uncleanable
from broker.cluster.cluster import Cluster
from broker.cluster.log_to_clean import CleaningSettings, next_cleaning_ms
from broker.cluster.producer_limit import limit_producer_ids
from broker.cluster.share_pruning import start_share_tasks
from broker.cluster.topics import Partition, Topic
from broker.cluster.transactions import start_transaction_tasks
from broker.config.synthetic_keys import STORED
from broker.timers import PeriodicTask
from protocol.pacing import may_pause

EXPIRY_STEPS_PER_TURN = 500
"""A step checks a few dozen producers; this many steps take about 10 ms."""

RETENTION_BATCHES_PER_TURN = 10_000
"""To delete this many takes a few milliseconds."""
RETENTION_LOOK_BATCHES = 10
"""Batches that take as long to delete as a look at a partition."""
RETENTION_BATCHES_PER_STEP = 10_000


@may_pause
def start_background_tasks(cluster: Cluster, now_ms: int) -> None:
    """Start the tasks, which repeat until the cluster's timers are cleared."""
    limit_producer_ids(cluster)
    _start_retention(cluster, now_ms)
    _start_cleaning(cluster, now_ms)
    _start_producer_expiry(cluster, now_ms)
    if cluster.delegation_tokens.is_enabled:
        _start_token_expiry(cluster, now_ms)
    start_transaction_tasks(cluster, now_ms)
    start_share_tasks(cluster, now_ms)


# Retention -----------------------------------------------------------------------------------


def apply_retention(cluster: Cluster, now_ms: int) -> None:
    """Delete the segments that retention deletes, in every partition."""
    for _ in _retention_steps(cluster, _retained_topics(cluster), now_ms):
        pass


def _start_retention(cluster: Cluster, now_ms: int) -> None:
    PeriodicTask(
        cluster.timers,
        cluster.config["log.retention.check.interval.ms"],
        lambda now_ms: _retention_turns(cluster, _retained_topics(cluster), now_ms),
        lambda: min(_deletion_times(_retained_topics(cluster)), default=None),
    ).start(now_ms + cluster.config["log.initial.task.delay.ms"])


def _retained_topics(cluster: Cluster) -> list[Topic]:
    """Return the topics of which retention deletes segments; the log cleaner does it in others.

    Logs that store nothing have no segments.
    """
    stored = (topic for topic in cluster.topics.all() if topic.config["log.records"] == STORED)
    if not cluster.config["log.cleaner.enable"]:
        return [topic for topic in stored if not topic.is_compacted]
    return [topic for topic in stored if not _is_cleaned(topic)]


def _retention_turns(cluster: Cluster, topics: Iterable[Topic], now_ms: int) -> Iterator[None]:
    left = RETENTION_BATCHES_PER_TURN
    for count in _retention_steps(cluster, topics, now_ms):
        left -= count + RETENTION_LOOK_BATCHES
        if left <= 0:
            left = RETENTION_BATCHES_PER_TURN
            yield


def _retention_steps(cluster: Cluster, topics: Iterable[Topic], begun_ms: int) -> Iterator[int]:
    """Delete what was to be deleted at `begun_ms`; yield how many batches each step took."""
    for topic in topics:
        for partition in topic.partitions:
            count = RETENTION_BATCHES_PER_STEP
            # Between two steps the topic may be deleted, and its configuration change.
            while count >= RETENTION_BATCHES_PER_STEP and cluster.topics.get(topic.name) is topic:
                count = _apply_to(cluster, topic, partition, begun_ms)
                yield count


def _apply_to(cluster: Cluster, topic: Topic, partition: Partition, now_ms: int) -> int:
    """Delete segments of a partition in one step; return how many batches it took.

    Kafka's `LogManager.cleanupLogs`.
    """
    log, batches_max = partition.log, RETENTION_BATCHES_PER_STEP
    if is_uncleanable(cluster, topic, partition):
        return 0
    settings = topic.on_broker(partition.leader_id).segment_settings
    added_count = log.extend_segments(settings, batches_max)
    if added_count == batches_max:
        return batches_max
    segments = log.segments
    assert segments is not None  # `extend_segments` makes them
    retention_bytes, retention_ms = _retention(topic, partition)
    count = segments.count_deletable(
        log.log_start_offset, log.high_watermark, retention_bytes, retention_ms, now_ms
    )
    if not count:
        return added_count
    before = log.batch_count
    cluster.freed(partition, log.delete_segments(count, batches_max, now_ms))
    return added_count + before - log.batch_count


def _deletion_times(topics: Iterable[Topic]) -> Iterator[int]:
    """Yield when retention may delete something of each partition; 0 where it may at once."""
    for topic in topics:
        for partition in topic.partitions:
            log, segments = partition.log, partition.log.segments
            retention_bytes, retention_ms = _retention(topic, partition)
            known = [] if segments is None else segments.segments
            if len(known) > 1 and known[1].base_offset <= log.log_start_offset:
                yield 0
            if 0 <= retention_bytes <= log.segment_bytes and (
                segments is None
                or log.log_end_offset > segments.end_offset
                or not known
                or log.segment_bytes - known[0].size_bytes >= retention_bytes
            ):
                yield 0
            if retention_ms >= 0:
                oldest_ms = known[0].retention_timestamp if known else log.oldest_timestamp
                has_new = segments is not None and log.log_end_offset > segments.end_offset
                if len(known) == 1 and known[0].largest_timestamp < 0 and has_new:
                    yield 0  # a new batch may have a time, and an older one
                elif oldest_ms is not None:
                    yield oldest_ms + retention_ms + 1


def _retention(topic: Topic, partition: Partition) -> tuple[int, int]:
    """Return `retention.bytes` and `retention.ms` of a partition; -1 for what deletes nothing."""
    config = topic.on_broker(partition.leader_id).config
    if "delete" not in config["cleanup.policy"]:
        return -1, -1
    return config["retention.bytes"], config["retention.ms"]


# Compaction ----------------------------------------------------------------------------------


def _start_cleaning(cluster: Cluster, begun_ms: int) -> None:
    """Have the log cleaner look at the logs regularly while a client's topic is compacted."""
    if not cluster.config["log.cleaner.enable"]:
        return
    task = PeriodicTask(
        cluster.timers,
        _backoff_ms(cluster),
        lambda now_ms: _cleaning_turns(cluster, task, now_ms),
        lambda: min(_cleaning_times(cluster), default=None),
    )

    def note_topic(topic: Topic) -> None:
        if not task.is_started and _is_cleaned(topic):
            task.interval_ms = _backoff_ms(cluster)
            first_ms = begun_ms + task.interval_ms
            task.start(task.period_from(first_ms, cluster.timers.latest_ms + 1))

    cluster.topics.on_config = note_topic
    for topic in cluster.topics.all():
        note_topic(topic)


def _backoff_ms(cluster: Cluster) -> int:
    backoff_ms: int = cluster.config["log.cleaner.backoff.ms"]
    return max(1, backoff_ms)


def _is_cleaned(topic: Topic) -> bool:
    """Return whether a broker has the log cleaner compact its logs of a topic."""
    if topic.is_internal or topic.config["log.records"] != STORED:
        return False
    return topic.is_compacted or any(own.is_compacted for own in topic.by_broker.values())


def _cleaned_topics(cluster: Cluster) -> list[Topic]:
    return [topic for topic in cluster.topics.all() if _is_cleaned(topic)]


def _cleaning_turns(cluster: Cluster, task: PeriodicTask, begun_ms: int) -> Iterator[None]:
    """Clean what is dirty at `begun_ms`, then apply retention."""
    topics = _cleaned_topics(cluster)
    task.interval_ms = _backoff_ms(cluster)
    if not topics:
        task.stop()
    for topic in topics:
        for partition in topic.partitions:
            yield from cleaning_steps(cluster, topic, partition, begun_ms)
    yield from _retention_turns(cluster, topics, begun_ms)


def _cleaning_times(cluster: Cluster) -> Iterator[int]:
    """Yield when each log may have to be cleaned, or a segment to be deleted."""
    topics = _cleaned_topics(cluster)
    if not topics:
        yield 0  # the task stops
    for topic in topics:
        for partition in topic.partitions:
            own = topic.on_broker(partition.leader_id)
            if own.is_compacted and not is_uncleanable(cluster, topic, partition):
                time_ms = next_cleaning_ms(partition, CleaningSettings.of(own.config))
                if time_ms is not None:
                    yield time_ms
    yield from _deletion_times(topics)


# Delegation tokens and producers -------------------------------------------------------------


def _start_token_expiry(cluster: Cluster, now_ms: int) -> None:
    tokens = cluster.delegation_tokens
    interval_ms = cluster.config["delegation.token.expiry.check.interval.ms"]

    def run(now_ms: int) -> Iterable[None]:
        tokens.remove_expired(now_ms)
        return ()

    PeriodicTask(cluster.timers, interval_ms, run, tokens.next_expiry_ms).start(
        now_ms + interval_ms
    )


def _start_producer_expiry(cluster: Cluster, now_ms: int) -> None:
    interval_ms = cluster.config["producer.id.expiration.check.interval.ms"]
    PeriodicTask(
        cluster.timers,
        interval_ms,
        lambda now_ms: _producer_expiry_turns(cluster, now_ms),
        lambda: _next_producer_expiry_ms(cluster),
    ).start(now_ms + interval_ms)


def _producer_expiry_turns(cluster: Cluster, now_ms: int) -> Iterator[None]:
    for number, _ in enumerate(_producer_expiry_steps(cluster, now_ms), start=1):
        if number % EXPIRY_STEPS_PER_TURN == 0:
            yield


def _producer_expiry_steps(cluster: Cluster, now_ms: int) -> Iterator[int]:
    for partition, expiration_ms in _partitions_with_expiration(cluster):
        yield from partition.producers.expire_in_steps(now_ms, expiration_ms)


def _next_producer_expiry_ms(cluster: Cluster) -> int | None:
    times = [
        partition.producers.next_expiry_ms(expiration_ms)
        for partition, expiration_ms in _partitions_with_expiration(cluster)
    ]
    return min((time_ms for time_ms in times if time_ms is not None), default=None)


def _partitions_with_expiration(cluster: Cluster) -> Iterator[tuple[Partition, int]]:
    """Yield all partitions, each with the time after which its producers expire, in ms."""
    for topic in tuple(cluster.topics.all()):
        for partition in topic.partitions:
            config = cluster.config.for_broker(partition.leader_id)
            yield partition, config["producer.id.expiration.ms"]
