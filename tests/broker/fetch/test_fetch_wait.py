"""A Fetch waits for records, and leaves nothing behind."""

import pytest

from broker.cluster.cluster import Cluster
from broker.fetch.fetch_wait import read_or_wait
from broker.pending_response import PendingResponse
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from protocol.pacing import LOOK_EVERY
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context
from tests.broker.fetch.fetches import make_fetch
from tests.broker.interleaving import run_with_pauses


def append(cluster: Cluster) -> None:
    topic = cluster.topics.get("t")
    assert topic is not None
    batch = make_batch(b"v")
    context = make_context(ApiKey.PRODUCE, 9)
    append_batch(context, cluster, topic, topic.partitions[0], batch, 0, len(batch))


def test_records_are_returned_at_once() -> None:
    cluster = make_cluster(1)
    cluster.create_topic("t", [(1,)], {})
    append(cluster)

    assert isinstance(read_or_wait(make_fetch(cluster, 0)), bytes)


def test_a_fetch_waits_until_a_record_comes_or_its_time_is_over() -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("t", [(1,)] * 2, {})
    first, second = (read_or_wait(make_fetch(cluster, 0, 1)) for _ in range(2))
    assert isinstance(first, PendingResponse)
    assert isinstance(second, PendingResponse)

    second.cancel()
    append(cluster)
    cluster.timers.run_due(NOW_MS)
    assert first.is_done
    assert first.response is not None

    third = read_or_wait(make_fetch(cluster, 1))
    assert isinstance(third, PendingResponse)
    cluster.timers.run_due(NOW_MS + 99)
    assert not third.is_done
    cluster.timers.run_due(NOW_MS + 100)
    assert third.is_done
    assert not any(partition.log.waiters for partition in topic.partitions)


@pytest.mark.parametrize("end", ["cancel", "time"])
def test_a_wait_at_many_partitions_ends_with_pauses(end: str) -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("t", [(1,)] * 3 * LOOK_EVERY, {})
    pending = read_or_wait(make_fetch(cluster, *range(3 * LOOK_EVERY)))
    assert isinstance(pending, PendingResponse)
    counts = []

    def count() -> None:
        counts.append(sum(bool(partition.log.waiters) for partition in topic.partitions))
        append(cluster)  # those that are still there do nothing any more

    def finish() -> None:
        if end == "cancel":
            pending.cancel()
        else:
            cluster.timers.run_due(NOW_MS + 100)

    run_with_pauses(finish, count)

    assert counts[:3] == [3 * LOOK_EVERY, 2 * LOOK_EVERY, LOOK_EVERY]
    assert pending.is_done
    assert not any(partition.log.waiters for partition in topic.partitions)
