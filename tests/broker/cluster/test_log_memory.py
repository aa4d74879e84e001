"""Freeing memory in steps; `test_cluster` has the bounds."""

from itertools import pairwise

import pytest

from broker.cluster import log_memory
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from tests.batches import filled_batch
from tests.broker.cluster.stored_records import append, stored_bytes
from tests.broker.cluster_builder import NOW_MS, make_cluster

STEP = 10


@pytest.fixture(autouse=True)
def _short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_memory, "BATCHES_PER_STEP", STEP)


def filled(cluster: Cluster, name: str, batch_count: int, partitions: int = 1) -> Topic:
    """Return a topic whose partitions have so many batches of 100 bytes."""
    topic = cluster.create_topic(name, [(1,)] * partitions, {})
    for index in range(partitions):
        for _ in range(batch_count):
            append(cluster, topic, 100, partition=index)
    return topic


def bound_memory(cluster: Cluster, bytes_max: int) -> None:
    config = cluster.config.with_dynamic(None, {"log.memory.max.bytes": str(bytes_max)})
    cluster.set_config(config)


def batch_counts(cluster: Cluster, *topics: Topic) -> list[int]:
    """Return how many batches there are now, and after each step of the timer."""

    def count() -> int:
        return sum(p.log.batch_count for topic in topics for p in topic.partitions)

    counts, now_ms = [count()], NOW_MS
    while (due_ms := cluster.timers.next_due_ms()) is not None:
        assert due_ms == now_ms + 1
        now_ms = due_ms
        cluster.timers.run_due(now_ms)
        counts.append(count())
    return counts


def test_the_largest_partition_loses_its_oldest_batches_first() -> None:
    cluster = make_cluster(1)
    small = filled(cluster, "small", 2)
    large = filled(cluster, "large", 8)
    internal = cluster.create_topic("__consumer_offsets", [(1,)], {})
    for offset in range(20):
        internal.partitions[0].log.append(filled_batch(offset, size_bytes=100), 1, 0)
    bound_memory(cluster, 900)

    append(cluster, small, 100)
    batch_counts(cluster, small, large)
    starts = [topic.partitions[0].log.log_start_offset for topic in (small, large, internal)]
    assert starts == [0, 4, 0]
    bound_memory(cluster, 100)
    append(cluster, small, 100)
    batch_counts(cluster, small, large)
    assert [topic.partitions[0].log.batch_count for topic in (small, large, internal)] == [1, 1, 20]


def test_a_lower_bound_of_memory_deletes_many_batches_in_short_steps() -> None:
    cluster = make_cluster(1)
    topic = filled(cluster, "a", 16, partitions=3)
    bound_memory(cluster, 800)

    append(cluster, topic, 100)

    counts = batch_counts(cluster, topic)
    assert counts[0] >= 49 - STEP
    assert counts[-1] == 7
    assert max(before - after for before, after in pairwise(counts)) <= STEP


def test_the_first_records_that_the_bound_deletes_are_announced_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster = make_cluster(1)
    topic = filled(cluster, "a", 4)
    bound_memory(cluster, 300)
    for _ in range(5):
        append(cluster, topic, 100)
    assert capsys.readouterr().out.count("log.memory.max.bytes is reached") == 1


@pytest.mark.parametrize("change", ["delete", "recreate", "keep", "reset"])
def test_what_changes_between_two_steps_counts(change: str) -> None:
    cluster = make_cluster(1)
    topic = filled(cluster, "a", 40)
    bound_memory(cluster, 500)
    append(cluster, topic, 100)

    bound_memory(cluster, 10_000)
    if change == "reset":
        cluster.reset()
    elif change != "keep":
        cluster.delete_topic(topic, NOW_MS)
    if change == "recreate":
        filled(cluster, "a", 40)

    left = {"delete": 0, "recreate": 4000, "keep": 3100, "reset": 0}[change]
    batch_counts(cluster, topic)
    assert cluster.log_bytes == left


def test_partitions_with_one_batch_are_not_searched_with_each_append(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches = 0
    largest_logs = log_memory._largest_logs

    def search(*arguments: object) -> object:
        nonlocal searches
        searches += 1
        return largest_logs(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(log_memory, "_largest_logs", search)
    cluster = make_cluster(1)
    topic = filled(cluster, "a", 1, partitions=50)
    bound_memory(cluster, 800)

    for _ in range(10):
        append(cluster, topic, 100)

    assert searches <= 2
    assert cluster.log_bytes == stored_bytes(cluster) == 5000


def test_a_deleted_topic_frees_its_batches_in_short_steps() -> None:
    cluster = make_cluster(1)
    topic = filled(cluster, "a", 25, partitions=2)
    batches = [partition.log._batches for partition in topic.partitions]

    cluster.delete_topic(topic, NOW_MS)

    assert cluster.log_bytes == 0
    assert [partition.log.batch_count for partition in topic.partitions] == [0, 0]
    assert [partition.log.log_start_offset for partition in topic.partitions] == [25, 25]
    counts, now_ms = [sum(map(len, batches))], NOW_MS
    while (due_ms := cluster.timers.next_due_ms()) is not None:
        assert due_ms == now_ms + 1
        now_ms = due_ms
        cluster.timers.run_due(now_ms)
        counts.append(sum(map(len, batches)))
    assert counts[0] == 50
    assert counts[-1] == 0
    assert max(before - after for before, after in pairwise(counts)) <= STEP
