"""The replica that a consumer with a rack should read."""

import pytest

from broker.cluster.failover import fence_broker
from broker.fetch.replica_selection import LEADER, preferred_read_replica
from tests.broker.cluster_builder import NOW_MS, make_cluster


@pytest.mark.parametrize(
    ("racks", "expected"),
    [
        ("abb", 3),
        ("aba", 2),
        ("bbb", LEADER),
        ("aaa", LEADER),
    ],
)
def test_the_leader_if_it_is_near_or_else_the_last_follower_that_is(
    racks: str, expected: int
) -> None:
    cluster = make_cluster(3)
    for broker, rack in zip(cluster.brokers.values(), racks, strict=True):
        broker.rack = rack
    partition = cluster.create_topic("t", [(1, 2, 3)], {}).partitions[0]
    assert preferred_read_replica(cluster, partition, "b", 0) == expected


@pytest.mark.parametrize("offset", [-1, 1])
def test_an_offset_outside_the_log_is_for_the_leader(offset: int) -> None:
    cluster = make_cluster(2)
    cluster.brokers[2].rack = "b"
    partition = cluster.create_topic("t", [(1, 2)], {}).partitions[0]
    assert preferred_read_replica(cluster, partition, "b", offset) == LEADER


def test_a_follower_that_is_down_or_out_of_sync_is_not_preferred() -> None:
    cluster = make_cluster(3)
    for broker in cluster.brokers.values():
        broker.rack = "a" if broker.node_id == 1 else "b"
    partition = cluster.create_topic("t", [(1, 2, 3)], {}).partitions[0]
    fence_broker(cluster, 3, NOW_MS)
    assert preferred_read_replica(cluster, partition, "b", 0) == 2
    partition.isr = (1,)
    assert preferred_read_replica(cluster, partition, "b", 0) == LEADER
