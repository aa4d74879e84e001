"""A reassignment ends when every broker that it moves to is up."""

from broker.cluster import failover
from broker.cluster.replicas import complete_reassignment, is_reassigning
from tests.broker.cluster_builder import NOW_MS, make_cluster


def test_a_partition_without_a_reassignment_does_not_change() -> None:
    cluster = make_cluster(3)
    [partition] = cluster.create_topic("t", [(1, 2)], {}).partitions
    assert not is_reassigning(partition)
    assert not complete_reassignment(cluster, partition, NOW_MS)
    assert (partition.replicas, partition.leader_epoch) == ((1, 2), 0)


def test_a_reassignment_waits_for_the_broker_that_is_down() -> None:
    cluster = make_cluster(3)
    [partition] = cluster.create_topic("t", [(1, 2)], {}).partitions
    failover.stop_broker(cluster, 3, NOW_MS)
    partition.replicas = (3, 1, 2)
    partition.adding_replicas, partition.removing_replicas = (3,), (1, 2)
    assert is_reassigning(partition)
    assert not complete_reassignment(cluster, partition, NOW_MS)

    cluster.brokers[3].is_alive = True
    assert complete_reassignment(cluster, partition, NOW_MS)
    assert list(partition.replicas) == list(partition.isr) == [3]
    assert partition.leader_id == 3
    assert not is_reassigning(partition)
