"""Replicas that left a small ISR can lead again, before any other (KIP-966)."""

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.eligible_leaders import clean_leader, last_known_leader, replace_isr
from broker.cluster.topics import NO_LEADER, Partition
from tests.broker.cluster_builder import NOW_MS, make_cluster

FEATURE = "eligible.leader.replicas.version"


def cluster_and_partition(
    min_isr: int, *replicas: int, level: int = 1
) -> tuple[Cluster, Partition]:
    cluster = make_cluster(3, **{"cluster.features": f"{FEATURE}={level}"})
    config = {"min.insync.replicas": str(min_isr)}
    return cluster, cluster.create_topic("a", [replicas], config).partitions[0]


def replicas_of(partition: Partition) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return partition.isr, partition.eligible_leader_replicas


def test_a_replica_that_leaves_a_small_isr_is_eligible_until_the_isr_is_large_enough() -> None:
    cluster, partition = cluster_and_partition(2, 1, 2, 3)
    failover.stop_broker(cluster, 3, NOW_MS)
    assert replicas_of(partition) == ((1, 2), ())
    failover.stop_broker(cluster, 2, NOW_MS)
    assert replicas_of(partition) == ((1,), (2,))
    failover.start_broker(cluster, 3, NOW_MS)
    assert replicas_of(partition) == ((1, 3), ())


def test_a_replica_that_returns_is_the_last_in_sync_before_kafka_4_2() -> None:
    found = {}
    for release in ("4.1", "4.2"):
        cluster = make_cluster(3, **{"broker.api.versions": release})
        partition = cluster.create_topic("a", [(2, 3, 1)], {}).partitions[0]
        failover.stop_broker(cluster, 2, NOW_MS)
        failover.start_broker(cluster, 2, NOW_MS)
        found[release] = partition.isr

    assert found == {"4.1": (3, 1, 2), "4.2": (1, 2, 3)}


def test_replicas_in_sync_stay_in_their_order_without_a_new_one() -> None:
    cluster = make_cluster(3)
    partition = cluster.create_topic("a", [(2, 3, 1)], {}).partitions[0]
    failover.stop_broker(cluster, 2, NOW_MS)

    assert partition.isr == (3, 1)
    cluster.expand_isr(partition, NOW_MS)
    assert partition.isr == (3, 1)


def test_more_replicas_than_the_partition_has_are_not_needed() -> None:
    cluster, partition = cluster_and_partition(3, 1, 2)
    assert replicas_of(partition) == ((1, 2), ())
    failover.stop_broker(cluster, 2, NOW_MS)
    assert replicas_of(partition) == ((1,), (2,))


def test_an_eligible_replica_leads_when_nobody_is_in_sync() -> None:
    cluster, partition = cluster_and_partition(2, 1, 2, 3)
    for node_id in (3, 2, 1):
        failover.stop_broker(cluster, node_id, NOW_MS)
    assert replicas_of(partition) == ((), (1, 2))
    assert (partition.leader_id, partition.last_known_leader_id) == (NO_LEADER, 1)

    failover.start_broker(cluster, 3, NOW_MS)
    assert (partition.leader_id, replicas_of(partition)) == (NO_LEADER, ((), (1, 2)))
    failover.start_broker(cluster, 2, NOW_MS)

    assert (partition.leader_id, replicas_of(partition)) == (2, ((2, 3), ()))
    assert partition.last_known_leader_id == NO_LEADER


def test_without_the_feature_the_last_replica_in_sync_stays_and_nobody_is_eligible() -> None:
    cluster, partition = cluster_and_partition(2, 1, 2, level=0)
    for node_id in (2, 1):
        failover.stop_broker(cluster, node_id, NOW_MS)
    assert replicas_of(partition) == ((1,), ())


def test_the_isr_of_an_unclean_leader_leaves_nobody_eligible() -> None:
    cluster, partition = cluster_and_partition(3, 1, 2, 3)
    topic = cluster.topics.get("a")
    assert topic is not None
    replace_isr(topic, partition, [1], keeps_eligible=True)
    assert replicas_of(partition) == ((1,), (2, 3))
    replace_isr(topic, partition, [3], keeps_eligible=False)
    assert replicas_of(partition) == ((3,), ())


def test_eligible_replicas_lead_only_without_any_in_sync_and_the_last_leader_after_them() -> None:
    cluster, partition = cluster_and_partition(3, 1, 2, 3)
    topic = cluster.topics.get("a")
    assert topic is not None
    partition.last_known_leader_id = 3
    replace_isr(topic, partition, [1], keeps_eligible=True)
    cluster.brokers[1].is_alive = False
    assert clean_leader(partition, (1, 2, 3), cluster.is_alive) == NO_LEADER
    replace_isr(topic, partition, [], keeps_eligible=True)
    assert clean_leader(partition, (1, 2, 3), cluster.is_alive) == 2
    assert last_known_leader(partition, cluster.is_alive) == NO_LEADER
    partition.eligible_leader_replicas = ()
    assert last_known_leader(partition, cluster.is_alive) == 3
    cluster.brokers[3].is_alive = False
    assert last_known_leader(partition, cluster.is_alive) == NO_LEADER


def test_the_feature_makes_min_insync_replicas_a_value_of_all_brokers() -> None:
    key = "min.insync.replicas"
    off = {"cluster.features": f"{FEATURE}=0", key: "2"}
    assert key not in make_cluster(**off).config.dynamic_layer(None)
    assert make_cluster(**{key: "2"}).config.dynamic_layer(None) == {key: "2"}
