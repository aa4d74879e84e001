"""Regular tasks of a cluster: retention, expiry of producers and tokens, ends of transactions."""

from collections.abc import Iterator
from itertools import chain, islice

from broker.cluster.cluster import Cluster
from broker.cluster.producer_limit import limit_producer_ids
from broker.cluster.transactions import start_transaction_tasks

EXPIRY_STEPS_PER_TURN = 500
"""A step checks a few dozen producers; this many steps take about 10 ms."""

RETENTION_BATCHES_PER_TURN = 10_000
"""A step counts as another one; to delete this many takes a few milliseconds."""
RETENTION_BATCHES_PER_STEP = 10_000


def start_background_tasks(cluster: Cluster, now_ms: int) -> None:
    """Start the tasks, which repeat until the cluster's timers are cleared."""
    limit_producer_ids(cluster)
    _schedule_retention(cluster, now_ms + cluster.config["log.initial.task.delay.ms"])
    _schedule_producer_expiry(cluster, now_ms)
    if cluster.delegation_tokens.is_enabled:
        _schedule_token_expiry(cluster, now_ms)
    start_transaction_tasks(cluster, now_ms)


def apply_retention(cluster: Cluster, now_ms: int) -> None:
    """Delete batches past `retention.ms`, in every partition whose policy deletes."""
    for _ in _retention_steps(cluster, now_ms):
        pass


def _schedule_retention(cluster: Cluster, due_ms: int) -> None:
    """Check at `due_ms` and then at every interval, as Kafka's `LogManager.startup` schedules."""

    def run(now_ms: int) -> None:
        _delete_expired(cluster, _retention_steps(cluster, now_ms), now_ms)

    cluster.timers.schedule(due_ms, run)


def _delete_expired(cluster: Cluster, steps: Iterator[int], now_ms: int) -> None:
    """Delete batches for some steps; continue a millisecond later."""
    left = RETENTION_BATCHES_PER_TURN
    for count in steps:
        left -= count + 1
        if left <= 0:
            cluster.timers.schedule(
                now_ms + 1, lambda now_ms: _delete_expired(cluster, steps, now_ms)
            )
            return
    interval_ms = cluster.config["log.retention.check.interval.ms"]
    _schedule_retention(cluster, now_ms + interval_ms)


def _retention_steps(cluster: Cluster, begun_ms: int) -> Iterator[int]:
    """Delete what was past its time at `begun_ms`; yield the batches deleted in each step."""
    for topic in tuple(cluster.topics.all()):
        for partition in topic.partitions:
            count = RETENTION_BATCHES_PER_STEP
            # Between two steps the topic may be deleted, and its configuration change.
            while count == RETENTION_BATCHES_PER_STEP and cluster.topics.get(topic.name) is topic:
                config = topic.on_broker(partition.leader_id).config
                retention_ms = config["retention.ms"]
                if retention_ms < 0 or "delete" not in config["cleanup.policy"]:
                    break
                before = partition.log.batch_count
                cluster.delete_records_older_than(
                    partition, begun_ms - retention_ms, RETENTION_BATCHES_PER_STEP
                )
                count = before - partition.log.batch_count
                yield count


def _schedule_token_expiry(cluster: Cluster, now_ms: int) -> None:
    def run(now_ms: int) -> None:
        cluster.delegation_tokens.remove_expired(now_ms)
        _schedule_token_expiry(cluster, now_ms)

    interval_ms = cluster.config["delegation.token.expiry.check.interval.ms"]
    cluster.timers.schedule(now_ms + interval_ms, run)


def _schedule_producer_expiry(cluster: Cluster, now_ms: int) -> None:
    def begin(now_ms: int) -> None:
        _expire_producers(cluster, _expiry_steps(cluster, now_ms), now_ms)

    interval_ms = cluster.config["producer.id.expiration.check.interval.ms"]
    cluster.timers.schedule(now_ms + interval_ms, begin)


def _expire_producers(cluster: Cluster, steps: Iterator[int], now_ms: int) -> None:
    """Expire producers for some steps; continue a millisecond later."""
    for _ in islice(steps, EXPIRY_STEPS_PER_TURN):
        pass
    if (step := next(steps, None)) is None:
        _schedule_producer_expiry(cluster, now_ms)
    else:
        rest = chain((step,), steps)
        cluster.timers.schedule(now_ms + 1, lambda now_ms: _expire_producers(cluster, rest, now_ms))


def _expiry_steps(cluster: Cluster, now_ms: int) -> Iterator[int]:
    for topic in tuple(cluster.topics.all()):
        for partition in topic.partitions:
            config = cluster.config.for_broker(partition.leader_id)
            expiration_ms = config["producer.id.expiration.ms"]
            yield from partition.producers.expire_in_steps(now_ms, expiration_ms)
