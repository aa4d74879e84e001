"""Regular tasks of a cluster: retention, expiry of producers and tokens, ends of transactions."""

from collections.abc import Iterable, Iterator

from broker.cluster.cluster import Cluster
from broker.cluster.producer_limit import limit_producer_ids
from broker.cluster.topics import Partition, Topic
from broker.cluster.transactions import start_transaction_tasks
from broker.timers import PeriodicTask

EXPIRY_STEPS_PER_TURN = 500
"""A step checks a few dozen producers; this many steps take about 10 ms."""

RETENTION_BATCHES_PER_TURN = 10_000
"""To delete this many takes a few milliseconds."""
RETENTION_LOOK_BATCHES = 10
"""Batches that take as long to delete as a look at a partition."""
RETENTION_BATCHES_PER_STEP = 10_000


def start_background_tasks(cluster: Cluster, now_ms: int) -> None:
    """Start the tasks, which repeat until the cluster's timers are cleared."""
    limit_producer_ids(cluster)
    _start_retention(cluster, now_ms)
    _start_producer_expiry(cluster, now_ms)
    if cluster.delegation_tokens.is_enabled:
        _start_token_expiry(cluster, now_ms)
    start_transaction_tasks(cluster, now_ms)


# Retention -----------------------------------------------------------------------------------


def apply_retention(cluster: Cluster, now_ms: int) -> None:
    """Delete batches past `retention.ms`, in every partition whose policy deletes."""
    for _ in _retention_steps(cluster, now_ms):
        pass


def _start_retention(cluster: Cluster, now_ms: int) -> None:
    PeriodicTask(
        cluster.timers,
        cluster.config["log.retention.check.interval.ms"],
        lambda now_ms: _retention_turns(cluster, now_ms),
        lambda: min(_deletion_times(cluster), default=None),
    ).start(now_ms + cluster.config["log.initial.task.delay.ms"])


def _retention_turns(cluster: Cluster, now_ms: int) -> Iterator[None]:
    left = RETENTION_BATCHES_PER_TURN
    for count in _retention_steps(cluster, now_ms):
        left -= count + RETENTION_LOOK_BATCHES
        if left <= 0:
            left = RETENTION_BATCHES_PER_TURN
            yield


def _retention_steps(cluster: Cluster, begun_ms: int) -> Iterator[int]:
    """Delete what was past its time at `begun_ms`; yield the batches deleted in each step."""
    for topic in tuple(cluster.topics.all()):
        for partition in topic.partitions:
            count = RETENTION_BATCHES_PER_STEP
            # Between two steps the topic may be deleted, and its configuration change.
            while count == RETENTION_BATCHES_PER_STEP and cluster.topics.get(topic.name) is topic:
                retention_ms = _retention_ms(topic, partition)
                if retention_ms is None:
                    yield 0
                    break
                before = partition.log.batch_count
                cluster.delete_records_older_than(
                    partition, begun_ms - retention_ms, RETENTION_BATCHES_PER_STEP
                )
                count = before - partition.log.batch_count
                yield count


def _deletion_times(cluster: Cluster) -> Iterator[int]:
    """Yield when the oldest batch of each partition is past its time."""
    for topic in cluster.topics.all():
        for partition in topic.partitions:
            oldest_ms = partition.log.oldest_timestamp
            if oldest_ms is not None:
                retention_ms = _retention_ms(topic, partition)
                if retention_ms is not None:
                    yield oldest_ms + retention_ms + 1


def _retention_ms(topic: Topic, partition: Partition) -> int | None:
    """Return how long the records of a partition are kept; None if age does not delete them."""
    config = topic.on_broker(partition.leader_id).config
    retention_ms: int = config["retention.ms"]
    return retention_ms if retention_ms >= 0 and "delete" in config["cleanup.policy"] else None


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
