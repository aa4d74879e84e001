"""Retention and the expiry of producers run regularly, in short steps."""

import pytest

from broker.cluster import background_tasks
from broker.cluster.background_tasks import start_background_tasks
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.security.delegation_tokens import Principal
from tests.broker.cluster.stored_records import DAY_MS, append, stored_bytes
from tests.broker.cluster_builder import NOW_MS, make_cluster


def test_retention_runs_at_every_interval() -> None:
    cluster = make_cluster()
    deletes = cluster.create_topic("a", [(1,)], {"retention.ms": str(DAY_MS)})
    compacts = cluster.create_topic("b", [(1,)], {"cleanup.policy": "compact"})
    forever = cluster.create_topic("c", [(1,)], {"retention.ms": "-1"})
    topics = (deletes, compacts, forever)
    start_background_tasks(cluster, NOW_MS)
    for day in (0, 1):
        for topic in topics:
            append(cluster, topic, 100, timestamp=NOW_MS + day * DAY_MS)

    starts = []
    for now_ms in (NOW_MS + DAY_MS, NOW_MS + DAY_MS + 300_000, NOW_MS + 3 * DAY_MS):
        cluster.timers.run_due(now_ms)
        starts.append([topic.partitions[0].log.log_start_offset for topic in topics])

    assert starts == [[0, 0, 0], [1, 0, 0], [2, 0, 0]]
    assert cluster.log_bytes == stored_bytes(cluster) == 400


def test_retention_is_first_checked_half_a_minute_after_the_start() -> None:
    cluster = make_cluster(**{"log.retention.check.interval.ms": "100000"})
    topic = cluster.create_topic("a", [(1,)], {"retention.ms": "1000"})
    start_background_tasks(cluster, NOW_MS)

    starts = []
    for now_ms in (29_999, 30_000, 129_999, 130_000):
        append(cluster, topic, 100, timestamp=NOW_MS)
        cluster.timers.run_due(NOW_MS + now_ms)
        starts.append(topic.partitions[0].log.log_start_offset)

    assert starts == [0, 2, 2, 4]


def test_the_delay_of_the_first_retention_check_is_a_key() -> None:
    cluster = make_cluster(**{"log.initial.task.delay.ms": "5"})
    topic = cluster.create_topic("a", [(1,)], {"retention.ms": "1"})
    start_background_tasks(cluster, NOW_MS)
    append(cluster, topic, 100, timestamp=NOW_MS)

    cluster.timers.run_due(NOW_MS + 4)
    assert topic.partitions[0].log.log_start_offset == 0
    cluster.timers.run_due(NOW_MS + 5)
    assert topic.partitions[0].log.log_start_offset == 1


def expired_batches(count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Cluster, Topic]:
    """Return a cluster, whose turns are short, with batches that expire a day later."""
    monkeypatch.setattr(background_tasks, "RETENTION_BATCHES_PER_STEP", 10)
    monkeypatch.setattr(background_tasks, "RETENTION_BATCHES_PER_TURN", 10)
    cluster = make_cluster(**{"log.retention.check.interval.ms": "100000"})
    topic = cluster.create_topic("a", [(1,), (1,)], {"retention.ms": str(DAY_MS)})
    for _ in range(count):
        for partition in (0, 1):
            append(cluster, topic, 100, partition=partition, timestamp=NOW_MS)
    start_background_tasks(cluster, NOW_MS + DAY_MS)
    cluster.timers.run_due(NOW_MS + DAY_MS + 30_001)
    return cluster, topic


def test_many_expired_batches_are_deleted_in_short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, topic = expired_batches(35, monkeypatch)
    logs = [partition.log for partition in topic.partitions]
    counts = [sum(log.batch_count for log in logs)]
    now_ms = NOW_MS + DAY_MS + 30_001
    while cluster.timers.next_due_ms() == now_ms + 1:
        now_ms += 1
        cluster.timers.run_due(now_ms)
        counts.append(sum(log.batch_count for log in logs))

    # The rest of a partition and the first batches of the next one are one turn.
    assert counts == [60, 50, 40, 25, 15, 5, 0]
    assert cluster.log_bytes == stored_bytes(cluster) == 0
    # Done: the next check begins an interval after this one has begun.
    append(cluster, topic, 100, timestamp=NOW_MS)
    cluster.timers.run_due(NOW_MS + DAY_MS + 129_999)
    assert logs[0].batch_count == 1
    cluster.timers.run_due(NOW_MS + DAY_MS + 130_000)
    assert logs[0].batch_count == 0


@pytest.mark.parametrize("change", ["delete", "keep"])
def test_what_changes_between_two_steps_of_retention_counts(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, topic = expired_batches(15, monkeypatch)
    if change == "delete":
        cluster.delete_topic(topic, NOW_MS)
    else:
        cluster.alter_topic_config(topic, {"retention.ms": "-1"})

    cluster.timers.run_due(NOW_MS + DAY_MS + 40_000)

    assert cluster.log_bytes == stored_bytes(cluster) == (0 if change == "delete" else 2000)


def test_a_hundred_thousand_producers_expire_in_short_steps() -> None:
    cluster = make_cluster(
        **{
            "producer.id.expiration.ms": "200",
            "producer.id.expiration.check.interval.ms": "100",
        }
    )
    producers = cluster.create_topic("t", [(1,)], {}).partitions[0].producers
    start_background_tasks(cluster, NOW_MS)
    for producer_id in range(100_000):
        producers.apply(producer_id, 0, 0, 0, 0, NOW_MS)

    cluster.timers.run_due(NOW_MS + 200)
    after_one_turn = len(producers)
    assert 0 < after_one_turn < 100_000

    now_ms = NOW_MS + 200
    while cluster.timers.next_due_ms() == now_ms + 1:
        now_ms += 1
        cluster.timers.run_due(now_ms)
    assert len(producers) == 0
    # Done: the next check begins where an interval begins.
    assert now_ms < NOW_MS + 300
    assert cluster.timers.next_due_ms() == NOW_MS + 300


def test_producers_expire_by_the_setting_of_the_leader() -> None:
    cluster = make_cluster(
        2,
        **{
            "broker.2.producer.id.expiration.ms": "500",
            "producer.id.expiration.ms": "200",
            "producer.id.expiration.check.interval.ms": "100",
        },
    )
    partitions = cluster.create_topic("t", [(1, 2), (2, 1)], {}).partitions
    start_background_tasks(cluster, NOW_MS)
    for partition in partitions:
        partition.producers.apply(7, 0, 0, 0, 0, NOW_MS)

    cluster.timers.run_due(NOW_MS + 200)
    assert [len(partition.producers) for partition in partitions] == [0, 1]
    cluster.timers.run_due(NOW_MS + 500)
    assert [len(partition.producers) for partition in partitions] == [0, 0]


def test_expired_delegation_tokens_are_removed_at_every_interval() -> None:
    cluster = make_cluster(
        **{
            "delegation.token.secret.key": "key",
            "delegation.token.expiry.time.ms": "3000",
            "delegation.token.expiry.check.interval.ms": "5000",
        }
    )
    start_background_tasks(cluster, NOW_MS)
    counts = []
    for time_ms in (0, 4000, 5000, 9999, 10_000):
        cluster.timers.run_due(NOW_MS + time_ms)
        counts.append(len(cluster.delegation_tokens))
        alice = Principal("User", "alice")
        cluster.delegation_tokens.create(alice, alice, (), -1, NOW_MS + time_ms)
    assert counts == [0, 1, 1, 2, 1]
